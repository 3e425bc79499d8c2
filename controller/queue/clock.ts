import { Follower, timeoutError } from "../../access/deadline.ts";

/** Time as a parameter: a monotonic clock for intervals, the wall clock for written times. */
export interface Clock {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  date(): Date;
  /** Calls back once after a time, unless the result is disposed before. */
  after(ms: number, callback: () => void): Disposable;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Resolves after a time. Rejects with the reason of the signal when it is aborted first. */
export function delay(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const aborted = (): void => {
      timer[Symbol.dispose]();
      reject(signal.reason);
    };
    const timer = clock.after(ms, () => {
      signal.removeEventListener("abort", aborted);
      resolve();
    });
    signal.addEventListener("abort", aborted, { once: true });
  });
}

/** `withTimeout` of access/deadline.ts, by a clock. To be disposed when the work ends. */
export function withClockTimeout(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const follower = new Follower(signal);
  const timer = clock.after(timeoutMs, () => follower.abort(timeoutError()));
  return {
    signal: follower.signal,
    [Symbol.dispose]: () => {
      timer[Symbol.dispose]();
      follower[Symbol.dispose]();
    },
  };
}

/** A signal that is aborted a time after another one, for work that should still end. To be disposed when the work ends. */
export function outlasting(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  let timer: Disposable | undefined;
  const end = (): void => {
    timer = clock.after(ms, () => controller.abort(signal.reason));
  };
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      signal.removeEventListener("abort", end);
      timer?.[Symbol.dispose]();
    },
  };
}
