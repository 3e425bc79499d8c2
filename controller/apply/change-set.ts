import type { ObjectKey } from "../../api/kubernetes.ts";

/** One object that did not get where it should be. `message` is short, scrubbed and stable. */
export interface Trouble {
  readonly key: ObjectKey;
  readonly message: string;
}

/** What an apply did; every object of the plan is in exactly one of `applied`, `parked` and `failed`, the troubles sorted. */
export interface ChangeSet {
  /** Objects that were sent and accepted. */
  readonly applied: readonly ObjectKey[];
  /** Objects that needed no request. */
  readonly unchanged: number;
  /** Objects that wait for something on the spoke (a webhook's pods); tried again when a workload becomes available. */
  readonly parked: readonly Trouble[];
  /** Objects that the server refuses for good with this input. */
  readonly failed: readonly Trouble[];
  /** Obsolete objects that were deleted; empty when anything failed. */
  readonly pruned: readonly ObjectKey[];
}

/** How far an apply has come. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}
