import { FakeClock } from "./fake-clock.ts";

/** However long this process stood still, no more than this has passed for its clock. */
const longestStepMs = 50;

/**
 * A clock that runs `factor` times as fast, from now on, for what works with real servers and plugins. While this process stands still the clock does, too,
 * so that a busy machine takes no time from those who wait for an answer.
 */
export class QuickClock extends FakeClock implements AsyncDisposable {
  readonly #over = new AbortController();
  readonly #running: Promise<void>;

  constructor(factor: number) {
    super(Date.now());
    this.#running = this.#run(factor);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  async #run(factor: number): Promise<void> {
    let before = performance.now();
    while (!this.#over.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      const now = performance.now();
      await this.advance(Math.min(longestStepMs, now - before) * factor);
      before = now;
    }
  }
}
