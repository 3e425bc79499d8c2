import { setTimeout as delay } from "node:timers/promises";

export interface UntilOptions {
  /** What is waited for, as the end of a sentence that begins with "Waited 60 s for". */
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Default 250. */
  readonly everyMs?: number;
}

/**
 * Asks until the answer is not undefined and returns it. Throws what `check` throws, the reason of the signal, and after
 * `timeoutMs` an Error that says what was waited for.
 */
export async function until<T>(
  check: () => Promise<T | undefined>,
  options: UntilOptions,
): Promise<T> {
  const { what, timeoutMs, signal, everyMs = 250 } = options;
  const endMs = Date.now() + timeoutMs;
  for (;;) {
    const answer = await check();
    if (answer !== undefined) return answer;
    if (Date.now() >= endMs) throw new Error(`Waited ${timeoutMs / 1000} s for ${what}`);
    // The reason and not the AbortError that the timer makes of it.
    await delay(everyMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
