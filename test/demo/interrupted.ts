/** The person pressed Ctrl-C, or asked the process to end in another way. No failure. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";

  constructor(signalName: string) {
    super(`Stopped by ${signalName}`);
  }
}

/** Aborts at the first SIGINT, SIGTERM or SIGHUP and tells; the second one ends the process at once, and the watchdogs clean up. */
export function interruptions(onFirst: () => void): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(130);
      onFirst();
      stop.abort(new Interrupted(name));
    });
  }
  return stop.signal;
}
