/** Objects of which somebody asks whose they are, by identity. */
export interface OwnershipQuestion {
  /** Nothing was ever accepted of them. */
  readonly open: ReadonlySet<string>;
  /** Accepted, and then changed or deleted again and again by somebody who leaves no name. */
  readonly fought: ReadonlySet<string>;
  /**
   * Wanted by an installation whose anchor is lost, and with it what it had and what it had left to others. What others have of them does not keep it
   * from coming back, unless they are of its own kind: then they have its cluster.
   */
  readonly lost?: ReadonlySet<string>;
}

/** What this process knows of whose the objects are that an installation wants. */
export class Sharing {
  /** What was left to others when somebody last asked, by identity, each with words for whose it is. */
  left: ReadonlyMap<string, string> = new Map();
  /** Identities of what nothing was accepted of yet, and what nobody else has either. */
  free: ReadonlySet<string> = new Set();
}
