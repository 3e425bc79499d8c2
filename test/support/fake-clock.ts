import type { Clock } from "../../access/time/clock.ts";

/** A clock that stands still until it is told to go on; timers fire in the order of their times. */
export class FakeClock implements Clock {
  readonly #startMs: number;
  #now = 0;
  /** In the order of their times; of two at the same time the first one that was set. */
  readonly #timers: { readonly at: number; readonly callback: () => void }[] = [];

  /** `startMs`: the wall clock at first. */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(this.#startMs + this.#now);
  }

  random(): number {
    return Math.random();
  }

  after(ms: number, callback: () => void): Disposable {
    const timer = { at: this.#now + ms, callback };
    const before = this.#timers.findLastIndex((other) => other.at <= timer.at);
    this.#timers.splice(before + 1, 0, timer);
    return {
      [Symbol.dispose]: () => {
        const index = this.#timers.indexOf(timer);
        if (index >= 0) this.#timers.splice(index, 1);
      },
    };
  }

  /** Lets time pass; between two timers everything that they made possible happens. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    for (;;) {
      const [next] = this.#timers;
      if (next === undefined || next.at > end) break;
      this.#timers.shift();
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settled();
    }
    this.#now = end;
  }

  /** Time passes while the process is stopped: no timer fires before it goes on. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.length;
  }
}

/** Resolves when all promises that can settle by themselves have settled. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
