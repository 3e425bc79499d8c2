/** Time as a parameter: a monotonic clock for intervals, the wall clock for written times, and chance for the length of pauses. */
export interface Clock {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  date(): Date;
  /** A number in [0, 1) for the jitter of pauses, so that what failed together comes back at different times. */
  random(): number;
  /** Calls back once after a time, unless the result is disposed before. A timer in the background does not keep the process alive. */
  after(ms: number, callback: () => void, kind?: "background"): Disposable;
}

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

/** Resolves after a time, and early when the signal aborts. The caller then looks at the signal. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await delay(clock, ms, signal).catch(() => undefined);
}

/** Calls back again and again, `ms` apart, in the background until the result is disposed. */
export function every(clock: Clock, ms: number, callback: () => void): Disposable {
  let timer: Disposable;
  let isOver = false;
  const next = (): void => {
    timer = clock.after(
      ms,
      () => {
        callback();
        if (!isOver) next();
      },
      "background",
    );
  };
  next();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      timer[Symbol.dispose]();
    },
  };
}
