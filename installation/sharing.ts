/** Objects whose owners among the other components are asked for, by identity. */
export interface OwnershipQuestion {
  /** No write to them was ever accepted. */
  readonly open: ReadonlySet<string>;
  /** Accepted, and then changed or deleted repeatedly by an unknown writer. */
  readonly fought: ReadonlySet<string>;
  /**
   * The component lost its anchor and therefore the list of its shared objects. These are all its desired objects. Objects that other components have
   * do not stop its new installation, unless such a component is of the same kind: then it owns the cluster.
   */
  readonly lost?: ReadonlySet<string>;
}
