import { delay, type Clock } from "../queue/clock.ts";

/** Waits that grow from 25 ms to a second, until a deadline. */
export interface Patience {
  /** Waits a little longer than last time; throws what `complaint` says once the deadline has passed. */
  pause(complaint: () => Error, signal: AbortSignal): Promise<void>;
}

const firstPauseMs = 25;
const longestPauseMs = 1_000;

/** The patience begins to run out now. */
export function patienceOf(clock: Clock, totalMs: number): Patience {
  const deadline = clock.now() + totalMs;
  let pauseMs = firstPauseMs;
  return {
    async pause(complaint, signal) {
      const leftMs = deadline - clock.now();
      if (leftMs <= 0) throw complaint();
      await delay(clock, Math.min(pauseMs, leftMs), signal);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    },
  };
}
