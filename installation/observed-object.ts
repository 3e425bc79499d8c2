import { keyOf, type KubeObject, type ObjectKey, isJob } from "../api/kubernetes.ts";
import { isFinished, mayHaveFailed } from "./jobs.ts";
import { appliedAtOf, fingerprintOf } from "./managed-fields.ts";
import { isWorkload } from "./readiness.ts";

/** Compact record of one installed object, kept from metadata-only watches. */
export interface ObservedObject {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly resourceVersion: string;
  /** See managed-fields.ts; undefined when our apply owns nothing on it any more. */
  readonly fingerprint: string | undefined;
  /** See managed-fields.ts. */
  readonly appliedAt?: number | undefined;
  /** A deletion timestamp is set. */
  readonly deleting: boolean;
  /** The finalizers that delay its deletion; absent while it is not being deleted. */
  readonly finalizers?: readonly string[];
  /** Of a workload. Absent for others. */
  readonly generation?: number;
  /** Of a Job; see jobs.ts. Absent for others. */
  readonly finished?: boolean;
  /** As `finished`. */
  readonly mayHaveFailed?: true;
}

/** The compact record of an object that a watch, a list or an answer to our own write showed; needs its managedFields. */
export function observedObject(object: KubeObject, fieldManager: string): ObservedObject {
  const { uid, resourceVersion, deletionTimestamp, finalizers = [] } = object.metadata;
  const { generation } = object.metadata;
  return {
    key: keyOf(object),
    uid,
    resourceVersion,
    fingerprint: fingerprintOf(object, fieldManager),
    appliedAt: appliedAtOf(object, fieldManager),
    deleting: deletionTimestamp !== undefined,
    ...(isWorkload(object) && generation !== undefined ? { generation } : {}),
    ...(isJob(object) ? { finished: isFinished(object) } : {}),
    ...(isJob(object) && mayHaveFailed(object) ? { mayHaveFailed: true } : {}),
    ...(deletionTimestamp === undefined ? {} : { finalizers }),
  };
}

/**
 * Whether the plan has to be made again for a new record of an object: its deletion began, it was replaced, or a field of ours was changed or
 * removed. Not for writes to the status, foreign labels and the like, nor for an object that appears as we applied it.
 */
export function isDrift(before: ObservedObject | undefined, after: ObservedObject): boolean {
  if (before === undefined) return after.deleting || after.fingerprint === undefined;
  return (
    before.uid !== after.uid ||
    before.fingerprint !== after.fingerprint ||
    (after.deleting && !before.deleting)
  );
}

/** Whether an apply of ours has changed an object: a late apply, or one whose answer is still to come. */
export function isApplied(before: ObservedObject | undefined, after: ObservedObject): boolean {
  return before !== undefined && before.appliedAt !== after.appliedAt;
}

type Versioned = Pick<ObservedObject, "resourceVersion">;

/**
 * Whether an event, or a list, is older than the known state of the object, so that it must be ignored. The versions of one collection are growing
 * numbers. For other versions the event counts.
 */
export function isOlder(event: Versioned, known: Versioned | undefined): boolean {
  if (known === undefined) return false;
  const [a, b] = [versionOf(event), versionOf(known)];
  return a !== undefined && b !== undefined && a < b;
}

/** Whether one state of an object came after another one. Also true when the versions differ and are no numbers. */
export function isNewer(one: Versioned, other: Versioned): boolean {
  const [a, b] = [versionOf(one), versionOf(other)];
  if (a === undefined || b === undefined) return one.resourceVersion !== other.resourceVersion;
  return a > b;
}

function versionOf({ resourceVersion }: Versioned): bigint | undefined {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined;
}

/** An object that went. */
export interface Gone {
  readonly uid: string;
  /** Version of the deletion event; absent when a list lacked the object. */
  readonly resourceVersion?: string;
}

// More than disappear during one request.
const mostGone = 1_000;

/** The last objects that went, by identity: the answer to a write may come after the event that the object went. */
export class GoneObjects {
  readonly #gones = new Map<string, Gone>();

  add(id: string, gone: Gone): void {
    this.#gones.set(id, gone);
    const [oldest] = this.#gones.keys();
    if (this.#gones.size > mostGone && oldest !== undefined) this.#gones.delete(oldest);
  }

  delete(id: string): void {
    this.#gones.delete(id);
  }

  /** Whether an object disappeared after the state of a note. An object that lost our label also disappeared; it is back when the label is back. */
  wentAfter(id: string, note: ObservedObject): boolean {
    const gone = this.#gones.get(id);
    if (gone?.uid !== note.uid) return false;
    const { resourceVersion } = gone;
    return resourceVersion === undefined || !isNewer(note, { resourceVersion });
  }
}
