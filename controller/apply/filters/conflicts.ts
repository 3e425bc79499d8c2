import { ApiError, type StatusCause } from "../../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../../access/kube/kube-client.ts";
import { backoffMs } from "../../../access/time/backoff.ts";
import { byText } from "../../../api/fields.ts";
import { asciiText } from "../../../api/foreign-text.ts";
import { objectId } from "../../../api/keys.ts";
import { describe, type Manifest, nameFirst, type ObjectKey } from "../../../api/kubernetes.ts";

/** An object that another field manager changes or deletes as often as we repair it. */
export interface Conflict {
  readonly key: ObjectKey;
  /** The managers that had set other values before the last repair. Empty when there were none, as after a deletion. */
  readonly managers: readonly ConflictingManager[];
  /** Milliseconds until the next attempt, which repairs once more or finds the conflict over. */
  readonly dueMs: number;
}

interface Repairs {
  readonly key: ObjectKey;
  /** Times of the repairs of the last minute. */
  readonly times: readonly number[];
  /** Repairs since the conflict began; 0: there is none. */
  readonly rounds: number;
  /** The object is wrong and is not repaired for a while. */
  readonly isWrong: boolean;
  /** When it was last wrong. */
  readonly wrongAt: number;
  readonly heldUntil: number;
  readonly managers: readonly ConflictingManager[];
}

/**
 * How often objects were repaired. The third repair within a minute begins a conflict: from then on there are 10 s, 20 s and
 * so on up to 5 minutes between two repairs, until the object was right for a minute. A conflict that the status already reports continues with the
 * first repair. Times are milliseconds of a monotonic clock. Spec: engine.md, Guards.
 */
export interface Conflicts {
  /** By identity of the object. */
  readonly repairs: ReadonlyMap<string, Repairs>;
  /** The conflicts in the status of the component when this process first saw it, and the time; undefined before. */
  readonly reported: { readonly message: string; readonly at: number } | undefined;
}

export const noConflicts: Conflicts = { repairs: new Map(), reported: undefined };

const windowMs = 60_000;
const repairsOfConflict = 3;
const hold = { firstMs: 10_000, longestMs: 300_000 };
const shownObjects = 3;

/** Continues the conflicts in the status of the component; empty: none. Only the first call counts. */
export function continueConflicts(conflicts: Conflicts, message: string, at: number): Conflicts {
  return conflicts.reported === undefined ? { ...conflicts, reported: { message, at } } : conflicts;
}

/** Milliseconds until it is certain whether the conflicts of the status are over; 0: now. */
export function untilSureMs({ reported }: Conflicts, now: number): number {
  if (reported === undefined || reported.message === "") return 0;
  return Math.max(0, reported.at + windowMs - now);
}

/** Identities of objects that are not to be repaired for a while. */
export function heldAt({ repairs }: Conflicts, now: number): ReadonlySet<string> {
  const held = [...repairs].filter(([, one]) => one.rounds > 0 && now < one.heldUntil);
  return new Set(held.map(([id]) => id));
}

/** After a reading that shows which objects are wrong, by identity. `held`: the objects that the plan of this reading does not repair. */
export function withWrong(
  conflicts: Conflicts,
  wrong: ReadonlySet<string>,
  { held, now }: { readonly held: ReadonlySet<string>; readonly now: number },
): Conflicts {
  if (conflicts.repairs.size === 0) return conflicts;
  const repairs = [...conflicts.repairs].map(([id, one]) => {
    const isWrong = wrong.has(id) && held.has(id);
    return [id, { ...one, isWrong, wrongAt: wrong.has(id) ? now : one.wrongAt }] as const;
  });
  return { ...conflicts, repairs: new Map(repairs) };
}

/** At least one object is wrong and is not repaired for a while. */
export function isHolding({ repairs }: Conflicts): boolean {
  return [...repairs.values()].some(({ isWrong }) => isWrong);
}

/** Before a repair: it counts as one of its object. */
export function withRepair(conflicts: Conflicts, key: ObjectKey, now: number): Conflicts {
  const { repairs } = withoutOver(conflicts, now);
  const id = objectId(key);
  const before = repairs.get(id) ?? firstOf(key);
  const times = [...before.times.filter((at) => at > now - windowMs), now];
  const goesOn = before.rounds > 0 || isReported(conflicts, key, now);
  const rounds = goesOn || times.length >= repairsOfConflict ? before.rounds + 1 : 0;
  const heldUntil = rounds === 0 ? before.heldUntil : now + backoffMs(hold, rounds);
  const after = { ...before, times, rounds, heldUntil, isWrong: false, wrongAt: now };
  return { ...conflicts, repairs: new Map(repairs).set(id, after) };
}

/** The object is in conflict, so that the other managers have to be asked for before it is repaired. */
export function isInConflict({ repairs }: Conflicts, key: ObjectKey): boolean {
  return (repairs.get(objectId(key))?.rounds ?? 0) > 0;
}

/** Takes back a repair that was counted and not made. */
export function withoutRepair(conflicts: Conflicts, key: ObjectKey): Conflicts {
  const id = objectId(key);
  const before = conflicts.repairs.get(id);
  if (before === undefined) return conflicts;
  const times = before.times.slice(0, -1);
  const rounds = Math.max(0, before.rounds - 1);
  const repairs = new Map(conflicts.repairs);
  if (times.length + rounds === 0) repairs.delete(id);
  else repairs.set(id, { ...before, times, rounds, heldUntil: 0 });
  return { ...conflicts, repairs };
}

/** With the managers in conflict over an object. An empty list keeps the managers that were known before. */
export function withManagers(
  conflicts: Conflicts,
  key: ObjectKey,
  managers: readonly ConflictingManager[],
): Conflicts {
  const id = objectId(key);
  const before = conflicts.repairs.get(id);
  if (before === undefined || managers.length === 0) return conflicts;
  return { ...conflicts, repairs: new Map(conflicts.repairs).set(id, { ...before, managers }) };
}

/** The conflicts that are not over, in the order of names. */
export function currentConflicts(conflicts: Conflicts, now: number): readonly Conflict[] {
  return [...withoutOver(conflicts, now).repairs.values()]
    .filter(({ rounds }) => rounds > 0)
    .map(({ key, managers, heldUntil, wrongAt, isWrong }) => {
      const dueAt = isWrong ? heldUntil : wrongAt + windowMs;
      return { key, managers, dueMs: Math.max(1, dueAt - now) };
    })
    .toSorted(byText(({ key }) => objectId(key)));
}

/** The status names a conflict over the object, which may go on. */
function isReported(conflicts: Conflicts, key: ObjectKey, now: number): boolean {
  const { message = "" } = conflicts.reported ?? {};
  return untilSureMs(conflicts, now) > 0 && message.includes(`${describe(key)}: `);
}

/** Without the objects that were right for a minute. */
export function withoutOver(conflicts: Conflicts, now: number): Conflicts {
  const repairs = [...conflicts.repairs].filter(
    ([, { isWrong, wrongAt }]) => isWrong || now < wrongAt + windowMs,
  );
  if (repairs.length === conflicts.repairs.size) return conflicts;
  return { ...conflicts, repairs: new Map(repairs) };
}

/** `Deployment ns/a: Contested by hpa (scale): spec.replicas (and 2 more objects)`: equal for equal conflicts. */
export function conflictMessage(conflicts: readonly Conflict[]): string {
  const texts = conflicts.map(({ key, managers }) => {
    const by =
      managers.length === 0
        ? "Deleted or changed again and again by somebody who leaves no name"
        : describeManagers(managers);
    return `${describe(key)}: ${by}`;
  });
  const more = texts.length - shownObjects;
  const shown = texts.slice(0, shownObjects).join("; ");
  return more > 0 ? `${shown} (and ${more} more objects)` : shown;
}

function firstOf(key: ObjectKey): Repairs {
  return {
    key,
    times: [],
    rounds: 0,
    isWrong: false,
    wrongAt: 0,
    heldUntil: 0,
    managers: [],
  };
}

/** A manager that holds other values in our fields. Both texts come from the cluster, checked and bounded. */
export interface ConflictingManager {
  /** Its field manager, with the subresource that it writes through: `hpa`, `kube-controller-manager (scale)`. */
  readonly manager: string;
  /** Paths as the server names them, without the leading dot, sorted: `spec.replicas`. */
  readonly fields: readonly string[];
}

export interface ConflictDeps {
  readonly client: Pick<KubeClient, "apply">;
  readonly fieldManager: string;
}

/**
 * The managers that set other values in fields of `body`, found by one dry run without force. Empty when there are none, and when another writer
 * removed a field or took it over with our value. Has to be called before the repair, which takes every field back. Throws what `KubeClient.apply`
 * throws, except for the conflict itself. Spec: engine-facts.md 10.
 */
export async function findConflictingManagers(
  { ref, body }: { readonly ref: ObjectRef; readonly body: Manifest },
  { client, fieldManager }: ConflictDeps,
  signal: AbortSignal,
): Promise<readonly ConflictingManager[]> {
  const options = { fieldManager, force: false, dryRun: true, metadataOnly: true };
  try {
    await client.apply(ref, body, options, signal);
    return [];
  } catch (error) {
    if (error instanceof ApiError && error.status === 409)
      return conflictingManagersIn(error.causes);
    throw error;
  }
}

const conflict =
  /^conflict with "(?<manager>[^"]{1,128})"(?: with subresource "(?<subresource>[\w-]{1,60})")?/;
const mostFields = 20;

/** The managers that a refused apply names, sorted, each with its fields; empty for a conflict of another sort. */
export function conflictingManagersIn(
  causes: readonly StatusCause[],
): readonly ConflictingManager[] {
  const byManager = new Map<string, Set<string>>();
  for (const { reason, field = "", message = "" } of causes) {
    const found = conflict.exec(message)?.groups;
    if (reason !== "FieldManagerConflict" || found === undefined) continue;
    const { manager = "", subresource } = found;
    const name = asciiText(manager) + (subresource === undefined ? "" : ` (${subresource})`);
    const fields = byManager.get(name) ?? new Set();
    byManager.set(name, fields.add(asciiText(field.replace(/^\./, "").slice(0, 160))));
  }
  return [...byManager]
    .map(([manager, fields]) => ({ manager, fields: [...fields].toSorted().slice(0, mostFields) }))
    .toSorted(byText(({ manager }) => manager));
}

const shownFields = 3;

/** `Contested by hpa (scale): spec.replicas`: short and equal for equal managers. */
export function describeManagers(managers: readonly ConflictingManager[]): string {
  const texts = managers.map(({ manager, fields }) => {
    return `${manager}: ${nameFirst(fields, shownFields)}`;
  });
  return `Contested by ${texts.join("; ")}`;
}
