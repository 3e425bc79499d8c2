import { byText } from "../../api/fields.ts";
import { objectId } from "../../api/keys.ts";
import { type ObjectKey } from "../../api/kubernetes.ts";
import type { Conflict } from "./filters/conflicts.ts";

/** An object that is not as desired, and why. `message` is short, scrubbed and stable. */
export interface Trouble {
  readonly key: ObjectKey;
  readonly message: string;
  /** For how long the server asks not to be asked again, in ms, a minute at most; absent: it does not. */
  readonly askedMs?: number;
}

/** The results of an apply. Every object of the plan is in exactly one of `applied`, `parked` and `failed`. The lists of troubles are sorted. */
export interface ChangeSet {
  /** Objects that were sent and accepted. */
  readonly applied: readonly ObjectKey[];
  /** The objects of `applied` that another writer had deleted or changed since they were sent, and the namespaces that another writer had changed. */
  readonly repaired: readonly ObjectKey[];
  /** The objects of `repaired` that got content which their set has not stamped yet; see kept.ts. Absent: none. */
  readonly renewed?: readonly ObjectKey[];
  /** Objects that needed no request. */
  readonly unchanged: number;
  /** Objects that wait for something on the spoke (a webhook's pods); tried again when a workload becomes available. */
  readonly parked: readonly Trouble[];
  /** Objects that the server refuses for good with this input. */
  readonly failed: readonly Trouble[];
  /** Obsolete objects that were deleted; empty when anything failed. */
  readonly pruned: readonly ObjectKey[];
  /** Obsolete objects that are being deleted, or whose deletion is refused for now. The message names the obstacle when it is known. */
  readonly lingering: readonly Trouble[];
  /** Objects that another writer changes or deletes again and again. */
  readonly conflicts: readonly Conflict[];
}

/** The objects that an adoption could not take over. */
export interface Unadopted {
  /** How many objects the cluster did not let us take over for now. */
  readonly count: number;
  /** The obsolete objects among them, in the lists of `apply`. No other step tries them again. */
  readonly parked: readonly Trouble[];
  readonly failed: readonly Trouble[];
  /** Whether these troubles make it necessary to go through the adoption once more. */
  isUnfinished(troubles: readonly Trouble[]): boolean;
}

/** How far an apply has come. */
export interface Progress {
  /** Objects that are as they should be. */
  readonly done: number;
  readonly total: number;
  /** The obstacles on the cluster, each with the number of objects that wait for it now. The most frequent obstacle comes first. */
  readonly waiting: readonly Waiting[];
  /** Objects that were refused for good. */
  readonly failed: number;
}

export interface Waiting {
  /** As in `Trouble`. */
  readonly message: string;
  readonly count: number;
}

/** Counts the objects by obstacle: one entry a message, the most frequent first, then by message. */
export function waitingFor(entries: Iterable<Waiting>): readonly Waiting[] {
  const counts = new Map<string, number>();
  for (const { message, count } of entries) counts.set(message, (counts.get(message) ?? 0) + count);
  return [...counts]
    .map(([message, count]) => ({ message, count }))
    .toSorted((a, b) => b.count - a.count || (a.message < b.message ? -1 : 1));
}

/** Troubles in the order in which a change set has them: answers come in any order, but equal outcomes have to read equal. */
export function sorted(troubles: readonly Trouble[]): readonly Trouble[] {
  return troubles.toSorted(byText(({ key }) => objectId(key)));
}
