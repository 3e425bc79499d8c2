import type { Clock } from "../../access/time/clock.ts";

/** A write of a status between two attempts, which a timer begins. */
export class TimedWrite implements Disposable {
  #timer: { readonly dueAt: number; readonly timer: Disposable } | undefined;
  #writing: Promise<void> | undefined;

  /** Whether the timer was set, and no write was refused since. */
  get wasBegun(): boolean {
    return this.#timer !== undefined || this.#writing !== undefined;
  }

  /** Sets the timer, unless an earlier one is set. `write` must not reject. It returns undefined when it may not write. */
  begin(clock: Clock, delayMs: number, write: () => Promise<void> | undefined): void {
    const dueAt = clock.now() + delayMs;
    if (this.#timer !== undefined && this.#timer.dueAt <= dueAt) return;
    this[Symbol.dispose]();
    const timer = clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#writing = write() ?? this.#writing;
    });
    this.#timer = { dueAt, timer };
  }

  /** Resolves when a running write has ended. */
  written(): Promise<void> {
    return this.#writing ?? Promise.resolve();
  }

  /** Stops the timer. A write that has begun goes on. */
  [Symbol.dispose](): void {
    this.#timer?.timer[Symbol.dispose]();
  }
}
