/** A terminal that a child has for a while. */
export interface HandOver extends Disposable {
  /** Aborts with the given signal, and when the terminal goes away. */
  readonly signal: AbortSignal;
}

/**
 * While it lasts, Ctrl-C is left to the child where both have the same terminal: it gets SIGINT by itself, and what it means, such as the end of a line in a
 * shell, is the child's matter. SIGHUP, the end of the terminal, aborts the signal, so that files are removed.
 */
export function handOver(signal: AbortSignal, isTerminal: boolean): HandOver {
  const hangup = new AbortController();
  const onHangup = (): void => hangup.abort();
  process.on("SIGHUP", onHangup);
  const own = isTerminal ? process.listeners("SIGINT") : [];
  if (isTerminal) {
    // Without any listener Node would end the process.
    process.on("SIGINT", ignore);
    for (const listener of own) process.off("SIGINT", listener);
  }
  return {
    signal: AbortSignal.any([signal, hangup.signal]),
    [Symbol.dispose]() {
      process.off("SIGHUP", onHangup);
      for (const listener of own) process.on("SIGINT", listener);
      process.off("SIGINT", ignore);
    },
  };
}

function ignore(): void {}
