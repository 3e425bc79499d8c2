import { backoffMs } from "../time/backoff.ts";
import type { Clock } from "../time/clock.ts";

// A cluster that has too much will have it again.
const backoff = { firstMs: 30_000, longestMs: 600_000, jitter: 1 / 4 };
const memoryMs = 3_600_000;

/** When a spoke that had more than may be kept is tried again: after pauses that grow. An hour without an excess ends the row. Times are of a monotonic clock, in ms. */
export class ExcessPause {
  #count = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #endsAt = Number.NEGATIVE_INFINITY;

  get endsAt(): number {
    return this.#endsAt;
  }

  begin(clock: Clock): void {
    const now = clock.now();
    this.#count = now - this.#lastAt > memoryMs ? 1 : this.#count + 1;
    this.#lastAt = now;
    this.#endsAt = now + backoffMs(backoff, this.#count, clock.random());
  }

  /** Ends the pause: another cluster may answer now. The next one is longer all the same. */
  end(): void {
    this.#endsAt = Number.NEGATIVE_INFINITY;
  }
}
