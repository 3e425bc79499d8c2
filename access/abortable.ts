/**
 * The same result, but waiting ends when the signal aborts, with its reason. The work itself goes on, and what becomes of
 * it is of no interest then.
 */
export function abortable<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort))
      .catch(() => undefined);
  });
}
