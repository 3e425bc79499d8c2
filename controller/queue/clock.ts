/** Time as a parameter: monotonic for intervals, wall clock for what is written down. */
export interface Clock {
  /** Milliseconds that only grow, also over a change of the wall clock. */
  now(): number;
  date(): Date;
  /** Calls back once after a time; disposing the result before prevents it. */
  after(ms: number, callback: () => void): Disposable;
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Resolves after a time; rejects with the reason of the signal when that is aborted first. */
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

/** A signal that follows another one and is also aborted after a time; dispose it when the work is over. */
export function limited(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const timer = clock.after(ms, () =>
    controller.abort(new DOMException("The time is over", "TimeoutError")),
  );
  return {
    signal: AbortSignal.any([signal, controller.signal]),
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  };
}

/** A signal that is aborted a time after another one is, for what has to be brought to its end; dispose it when the work is over. */
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
