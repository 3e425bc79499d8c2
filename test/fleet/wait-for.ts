import { setTimeout as delay } from "node:timers/promises";

/**
 * Asks again, every 50 to 250 ms or every `everyMs`, until the answer is neither undefined nor false, and returns it. Throws after
 * `timeoutMs` (default one minute) with what was waited for and the last error of `check`.
 */
export async function waitFor<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  {
    timeoutMs = 60_000,
    everyMs,
  }: { readonly timeoutMs?: number; readonly everyMs?: number | undefined } = {},
): Promise<T> {
  const end = Date.now() + timeoutMs;
  let cause: unknown;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs + 25, 250)) {
    try {
      const answer = await check();
      if (answer !== undefined && answer !== false) return answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > end) {
      throw new Error(`Waited ${timeoutMs} ms for ${what}`, cause === undefined ? {} : { cause });
    }
    await delay(everyMs ?? pauseMs);
  }
}
