/** Objects whose owner is asked for, by identity. */
export interface OwnershipQuestion {
  /** No write to them was ever accepted. */
  readonly open: ReadonlySet<string>;
  /** Accepted, and then changed or deleted repeatedly by an unknown writer. */
  readonly fought: ReadonlySet<string>;
  /**
   * Wanted by an installation whose anchor is lost, and with it what it had and what it had left to others. What others have of them does not keep it
   * from coming back, unless they are of its own kind: then they have its cluster.
   */
  readonly lost?: ReadonlySet<string>;
}

/** Ownership of the desired objects, as this process knows it. */
export class Sharing {
  /** Shared objects left to other components, by identity, with a text that names the owner. Result of the last question. */
  left: ReadonlyMap<string, string> = new Map();
  /** Identities of objects that were never accepted and that no other component has. */
  free: ReadonlySet<string> = new Set();
}
