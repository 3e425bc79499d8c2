import { describe, identityOf, type ObjectKey } from "../../../api/kubernetes.ts";
import { type Contestant, describeContest } from "./contestants.ts";

/** An object that somebody else changes or deletes as often as we repair it. */
export interface Contest {
  readonly key: ObjectKey;
  /** Who held other values when it was last repaired; empty when nobody did, as after a deletion. */
  readonly contestants: readonly Contestant[];
  /** Milliseconds until it is to be looked at again: to be repaired once more, or because the contest may be over. */
  readonly dueMs: number;
}

interface Repairs {
  readonly key: ObjectKey;
  /** Times of the repairs of the last minute. */
  times: readonly number[];
  /** Repairs since the contest began; 0: there is none. */
  rounds: number;
  /** The object is wrong and left alone. */
  isWrong: boolean;
  /** When it was last wrong. */
  wrongAt: number;
  heldUntil: number;
  contestants: readonly Contestant[];
}

const windowMs = 60_000;
const repairsOfContest = 3;
const firstHoldMs = 10_000;
const longestHoldMs = 300_000;
const shownObjects = 3;

/**
 * Remembers how often objects were repaired. The third repair within a minute begins a contest: from then on there are 10 s, 20 s and
 * so on up to 5 minutes between two repairs, until nobody has touched the object for a minute. A contest that was told of when the memory began goes on with the first repair. Times are in ms of any
 * clock that only goes on. Spec: engine.md, Guards.
 */
export class Contests {
  readonly #repairs = new Map<string, Repairs>();
  #begunAt: number | undefined;
  #told = "";

  /** Goes on from what was last said of contests, by a memory that is lost; empty: nothing. Called again it does nothing. */
  begin(told: string, now: number): void {
    if (this.#begunAt !== undefined) return;
    this.#begunAt = now;
    this.#told = told;
  }

  /** Milliseconds until it can be said whether what was told of before is over; 0: now. */
  untilSureMs(now: number): number {
    if (this.#begunAt === undefined || this.#told === "") return 0;
    return Math.max(0, this.#begunAt + windowMs - now);
  }

  /** Of all objects that are wrong now, by identity, those that are to be left alone for a while. */
  heldAmong(wrong: ReadonlySet<string>, now: number): ReadonlySet<string> {
    const held = new Set<string>();
    for (const [id, repairs] of this.#repairs) {
      repairs.isWrong = wrong.has(id) && repairs.rounds > 0 && now < repairs.heldUntil;
      if (wrong.has(id)) repairs.wrongAt = now;
      if (repairs.isWrong) held.add(id);
    }
    return held;
  }

  /** Something is wrong and left alone for a while. */
  get isHolding(): boolean {
    return [...this.#repairs.values()].some(({ isWrong }) => isWrong);
  }

  /** An object that is wrong is about to be repaired. True when it is contested, and somebody should ask by whom. */
  repairing(key: ObjectKey, now: number): boolean {
    this.#forget(now);
    const id = identityOf(key);
    const repairs = this.#repairs.get(id) ?? firstOf(key);
    this.#repairs.set(id, repairs);
    repairs.times = [...repairs.times.filter((at) => at > now - windowMs), now];
    repairs.isWrong = false;
    repairs.wrongAt = now;
    const isNew = repairs.rounds === 0 && !this.#isOld(key, now);
    if (isNew && repairs.times.length < repairsOfContest) return false;
    repairs.heldUntil = now + Math.min(longestHoldMs, firstHoldMs * 2 ** repairs.rounds);
    repairs.rounds += 1;
    return true;
  }

  /** The repair that was just announced did not come about, so that nobody had to undo it. */
  notRepaired(key: ObjectKey): void {
    const id = identityOf(key);
    const repairs = this.#repairs.get(id);
    if (repairs === undefined) return;
    repairs.times = repairs.times.slice(0, -1);
    repairs.rounds = Math.max(0, repairs.rounds - 1);
    repairs.heldUntil = 0;
    if (repairs.times.length + repairs.rounds === 0) this.#repairs.delete(id);
  }

  /** Who contests an object; when nobody can be named, what was known before stays. */
  named(key: ObjectKey, contestants: readonly Contestant[]): void {
    const repairs = this.#repairs.get(identityOf(key));
    if (repairs !== undefined && contestants.length > 0) repairs.contestants = contestants;
  }

  /** The contests that are not over, in the order of names. */
  current(now: number): readonly Contest[] {
    this.#forget(now);
    return [...this.#repairs.values()]
      .filter(({ rounds }) => rounds > 0)
      .map(({ key, contestants, heldUntil, wrongAt, isWrong }) => {
        const dueAt = isWrong ? heldUntil : wrongAt + windowMs;
        return { key, contestants, dueMs: Math.max(1, dueAt - now) };
      })
      .toSorted((a, b) => (identityOf(a.key) < identityOf(b.key) ? -1 : 1));
  }

  /** A contest over the object was told of before, and may go on. */
  #isOld(key: ObjectKey, now: number): boolean {
    return this.untilSureMs(now) > 0 && this.#told.includes(`${describe(key)}: `);
  }

  #forget(now: number): void {
    for (const [id, { isWrong, wrongAt }] of this.#repairs) {
      if (!isWrong && now >= wrongAt + windowMs) this.#repairs.delete(id);
    }
  }
}

/** `Deployment ns/a: Contested by hpa (scale): spec.replicas (and 2 more objects)`: equal for equal contests. */
export function contestMessage(contests: readonly Contest[]): string {
  const texts = contests.map(({ key, contestants }) => {
    const by =
      contestants.length === 0
        ? "Deleted or changed again and again by somebody who leaves no name"
        : describeContest(contestants);
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
    contestants: [],
  };
}
