import type { Clock } from "../../access/time/clock.ts";
import type { Random } from "./random.ts";

interface Timer {
  readonly at: number;
  /** Timers of the same time ring in the order in which they were set. */
  readonly order: number;
  callback: (() => void) | undefined;
}

/**
 * The time of one simulation. It stands still while anything can run, and then goes to the next timer. Everything that waits for anything else than these timers must be over within a turn of
 * the event loop, or be a request of the file system.
 */
export class VirtualTime {
  readonly #startMs: number;
  readonly #timers: Timer[] = [];
  #nowMs = 0;
  #set = 0;
  #isHalted = false;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** The right time of day. */
  get date(): Date {
    return new Date(this.#startMs + this.#nowMs);
  }

  /** A clock of this time. `random`: what it draws; `aheadMs`: how wrong its wall clock is. */
  clock(random: Random, aheadMs = 0): Clock {
    return {
      now: () => this.#nowMs,
      date: () => new Date(this.#startMs + this.#nowMs + aheadMs),
      random: () => random.next(),
      after: (ms, callback) => this.after(ms, callback),
    };
  }

  after(ms: number, callback: () => void): Disposable {
    const timer: Timer = { at: this.#nowMs + Math.max(0, ms), order: this.#set, callback };
    this.#set += 1;
    this.#insert(timer);
    return { [Symbol.dispose]: () => void (timer.callback = undefined) };
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.filter(({ callback }) => callback !== undefined).length;
  }

  /** Ends what lets time pass, and all that would do so later, but not `run`: there is nothing more to see. */
  halt(): void {
    this.#isHalted = true;
  }

  /** Lets time pass until then. */
  async advanceTo(endMs: number): Promise<void> {
    await drained();
    // It changes while the timers ring.
    const isHalted = (): boolean => this.#isHalted;
    while (!isHalted()) {
      const timer = this.#next(endMs);
      if (timer === undefined) break;
      this.#nowMs = timer.at;
      timer.callback?.();
      // oxlint-disable-next-line no-await-in-loop -- one timer after the other
      await drained();
    }
    if (!isHalted()) this.#nowMs = Math.max(this.#nowMs, endMs);
  }

  advance(ms: number): Promise<void> {
    return this.advanceTo(this.#nowMs + ms);
  }

  /** Lets time pass until the work has ended. Throws when it takes longer than `limitMs`. */
  async run<Result>(work: Promise<Result>, limitMs: number): Promise<Result> {
    const endMs = this.#nowMs + limitMs;
    let isOver = false;
    const noted = work.finally(() => (isOver = true));
    noted.catch(() => undefined);
    await drained();
    // It changes while the timers ring.
    const hasEnded = (): boolean => isOver;
    while (!hasEnded()) {
      const timer = this.#next(endMs);
      if (timer === undefined) throw new Error(`Nothing ended within ${limitMs / 1_000} s`);
      this.#nowMs = timer.at;
      timer.callback?.();
      // oxlint-disable-next-line no-await-in-loop -- one timer after the other
      await drained();
    }
    return noted;
  }

  /** Takes the next timer away, if it rings by then. */
  #next(endMs: number): Timer | undefined {
    for (;;) {
      const [timer] = this.#timers;
      if (timer === undefined || timer.at > endMs) return undefined;
      this.#takeFirst();
      if (timer.callback !== undefined) return timer;
    }
  }

  /** The timers are a heap: none rings before the one at half its place. */
  #insert(timer: Timer): void {
    let at = this.#timers.length;
    this.#timers.push(timer);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.#timers[above];
      if (parent === undefined || !isBefore(timer, parent)) break;
      this.#timers[at] = parent;
      at = above;
    }
    this.#timers[at] = timer;
  }

  #takeFirst(): void {
    const last = this.#timers.pop();
    if (last === undefined || this.#timers.length === 0) return;
    let at = 0;
    for (;;) {
      const [left, right] = [this.#timers[2 * at + 1], this.#timers[2 * at + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || !isBefore(child, last)) break;
      this.#timers[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    this.#timers[at] = last;
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.at === other.at ? one.order < other.order : one.at < other.at;
}

/**
 * Resolves when nothing can run any more without time: all promises that can settle have settled, no immediate waits, and no file is being read. Timers and sockets of the machine do not
 * count, because only the test runner has any.
 */
async function drained(): Promise<void> {
  do {
    // oxlint-disable-next-line no-await-in-loop -- a turn of the event loop after the other
    await new Promise((resolve) => setImmediate(resolve));
  } while (process.getActiveResourcesInfo().some(isRunning));
}

function isRunning(resource: string): boolean {
  return ["Immediate", "FSReqCallback", "FSReqPromise", "CloseReq"].includes(resource);
}
