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
  times: readonly number[];
  /** Repairs since the conflict began; 0: there is none. */
  rounds: number;
  /** The object is wrong and is not repaired for a while. */
  isWrong: boolean;
  /** When it was last wrong. */
  wrongAt: number;
  heldUntil: number;
  managers: readonly ConflictingManager[];
}

const windowMs = 60_000;
const repairsOfConflict = 3;
const hold = { firstMs: 10_000, longestMs: 300_000 };
const shownObjects = 3;

/**
 * Remembers how often objects were repaired. The third repair within a minute begins a conflict: from then on there are 10 s, 20 s and
 * so on up to 5 minutes between two repairs, until the object was right for a minute. A conflict that the status already reports continues with the
 * first repair. Times are milliseconds of a monotonic clock. Spec: engine.md, Guards.
 */
export class Conflicts {
  readonly #repairs = new Map<string, Repairs>();
  #begunAt: number | undefined;
  #reported = "";

  /** Continues the conflicts in the status of the component; empty: none. Only the first call counts. */
  begin(reported: string, now: number): void {
    if (this.#begunAt !== undefined) return;
    this.#begunAt = now;
    this.#reported = reported;
  }

  /** Milliseconds until it is certain whether the conflicts of the status are over; 0: now. */
  untilSureMs(now: number): number {
    if (this.#begunAt === undefined || this.#reported === "") return 0;
    return Math.max(0, this.#begunAt + windowMs - now);
  }

  /** Identities of objects that are not to be repaired for a while. */
  heldAt(now: number): ReadonlySet<string> {
    const held = [...this.#repairs].filter(([, one]) => one.rounds > 0 && now < one.heldUntil);
    return new Set(held.map(([id]) => id));
  }

  /** Takes the identities of all objects that are wrong now. Returns those that are not to be repaired for a while. */
  heldAmong(wrong: ReadonlySet<string>, now: number): ReadonlySet<string> {
    const held = this.heldAt(now);
    this.note(wrong, { held, now });
    return new Set([...wrong].filter((id) => held.has(id)));
  }

  /** Notes which objects are wrong now, by identity, and which objects are not to be repaired for a while. */
  note(
    wrong: ReadonlySet<string>,
    { held, now }: { readonly held: ReadonlySet<string>; readonly now: number },
  ): void {
    for (const [id, repairs] of this.#repairs) {
      repairs.isWrong = wrong.has(id) && held.has(id);
      if (wrong.has(id)) repairs.wrongAt = now;
    }
  }

  /** At least one object is wrong and is not repaired for a while. */
  get isHolding(): boolean {
    return [...this.#repairs.values()].some(({ isWrong }) => isWrong);
  }

  /** Counts a repair that is about to be made. True when the object is in conflict, so that the caller asks for the other managers. */
  repairing(key: ObjectKey, now: number): boolean {
    this.#forget(now);
    const id = objectId(key);
    const repairs = this.#repairs.get(id) ?? firstOf(key);
    this.#repairs.set(id, repairs);
    repairs.times = [...repairs.times.filter((at) => at > now - windowMs), now];
    repairs.isWrong = false;
    repairs.wrongAt = now;
    const isNew = repairs.rounds === 0 && !this.#isOld(key, now);
    if (isNew && repairs.times.length < repairsOfConflict) return false;
    repairs.rounds += 1;
    repairs.heldUntil = now + backoffMs(hold, repairs.rounds);
    return true;
  }

  /** Takes back a repair that was announced and not made. */
  notRepaired(key: ObjectKey): void {
    const id = objectId(key);
    const repairs = this.#repairs.get(id);
    if (repairs === undefined) return;
    repairs.times = repairs.times.slice(0, -1);
    repairs.rounds = Math.max(0, repairs.rounds - 1);
    repairs.heldUntil = 0;
    if (repairs.times.length + repairs.rounds === 0) this.#repairs.delete(id);
  }

  /** Notes the managers in conflict over an object. An empty list keeps the managers that were noted before. */
  named(key: ObjectKey, managers: readonly ConflictingManager[]): void {
    const repairs = this.#repairs.get(objectId(key));
    if (repairs !== undefined && managers.length > 0) repairs.managers = managers;
  }

  /** The conflicts that are not over, in the order of names. */
  current(now: number): readonly Conflict[] {
    this.#forget(now);
    return [...this.#repairs.values()]
      .filter(({ rounds }) => rounds > 0)
      .map(({ key, managers, heldUntil, wrongAt, isWrong }) => {
        const dueAt = isWrong ? heldUntil : wrongAt + windowMs;
        return { key, managers, dueMs: Math.max(1, dueAt - now) };
      })
      .toSorted(byText(({ key }) => objectId(key)));
  }

  /** The status names a conflict over the object, which may go on. */
  #isOld(key: ObjectKey, now: number): boolean {
    return this.untilSureMs(now) > 0 && this.#reported.includes(`${describe(key)}: `);
  }

  #forget(now: number): void {
    for (const [id, { isWrong, wrongAt }] of this.#repairs) {
      if (!isWrong && now >= wrongAt + windowMs) this.#repairs.delete(id);
    }
  }
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
