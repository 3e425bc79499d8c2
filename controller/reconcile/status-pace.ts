const minIntervalMs = 1_000;
const burst = 4;
// So that news can be told at once also after a long time in which the words changed every second.
const keptForNews = 2;

/**
 * How often the status of one component may be written: once a second over any longer time, and up to four times more often in a row, so
 * that news need not wait in ordinary life. All times are by the controller's clock.
 */
export class StatusPace {
  /** What may be written at `#countedAt`, in milliseconds of waiting that it is worth. */
  #credit = burst * minIntervalMs;
  #countedAt = -Infinity;
  #lastWrittenAt = -Infinity;

  /** Milliseconds until something new may be written. */
  newsMs(now: number): number {
    return this.#untilMs(1, now);
  }

  /** Milliseconds until something new may be written that is only a step of work that goes on. */
  stepMs(now: number): number {
    return Math.max(this.newsMs(now), this.#lastWrittenAt + minIntervalMs - now);
  }

  /** Milliseconds until what was written already may be written in other words. */
  wordsMs(now: number): number {
    return Math.max(this.#untilMs(1 + keptForNews, now), this.#lastWrittenAt + minIntervalMs - now);
  }

  /** Counts a write. */
  written(now: number): void {
    this.#credit = Math.max(0, this.#creditAt(now) - minIntervalMs);
    this.#countedAt = now;
    this.#lastWrittenAt = now;
  }

  #untilMs(writes: number, now: number): number {
    return Math.max(0, Math.ceil(writes * minIntervalMs - this.#creditAt(now)));
  }

  #creditAt(now: number): number {
    return Math.min(burst * minIntervalMs, this.#credit + now - this.#countedAt);
  }
}
