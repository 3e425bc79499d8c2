import type { Writable } from "node:stream";

const endMs = 200;

/**
 * Runs a command to its exit code. SIGINT and SIGTERM abort the signal, a second one ends the process at once; a reader
 * that goes away (`| head`) ends it quietly. What is still open when the command has printed everything, such as a
 * connection attempt to a silent server, is not waited for.
 */
export async function runCommand(run: (signal: AbortSignal) => Promise<number>): Promise<void> {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(130);
      stop.abort();
    });
  }
  const outputs = [process.stdout, process.stderr];
  for (const output of outputs) {
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      process.exit(process.exitCode ?? 0);
    });
  }
  process.exitCode = await run(stop.signal);
  await Promise.all(outputs.map(flushed));
  setTimeout(() => process.exit(), endMs).unref();
}

function flushed(output: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  output.write("", () => resolve());
  return promise;
}
