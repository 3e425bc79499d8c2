/**
 * Runs a command to its exit code. SIGINT and SIGTERM abort the signal, a second one ends the process at once; a reader
 * that goes away (`| head`) ends it quietly.
 */
export async function runCommand(run: (signal: AbortSignal) => Promise<number>): Promise<void> {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(130);
      stop.abort();
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      process.exit(process.exitCode ?? 0);
    });
  }
  process.exitCode = await run(stop.signal);
}
