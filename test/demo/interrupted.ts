/** The person pressed Ctrl-C, or asked the process to end in another way. No failure. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";

  constructor(signalName: string) {
    super(`Stopped by ${signalName}`);
  }
}

/**
 * Aborts at the first SIGINT, SIGTERM or SIGHUP and tells; the second one ends the process at once, and the watchdogs clean
 * up. Aborts too when nobody reads the output any more, as after `npm run demo | head`. With `isKept` SIGHUP
 * stops nothing: the terminal that it is about is not needed.
 */
export function interruptions(onFirst: () => void, isKept: boolean): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (isKept && name === "SIGHUP") return;
      if (stop.signal.aborted) process.exit(130);
      onFirst();
      stop.abort(new Interrupted(name));
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", () => stop.abort(new Interrupted("the end of its output")));
  }
  return stop.signal;
}
