import { spawn } from "node:child_process";
import { constants } from "node:os";

import { UsageError } from "../../usage-error.ts";

/** A program to run at this one's terminal. */
export interface ChildStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What tells it to end; interactive shells ignore SIGTERM. */
  readonly endSignal: "SIGTERM" | "SIGHUP";
}

const endMs = 5_000;

/**
 * Runs a program with this one's streams and returns its exit code, or 128 and the number of the signal that ended it. When the signal aborts it is told to
 * end, and is killed when it has not done so after five seconds. Throws UsageError for a program that cannot be started.
 */
export async function runChild(
  { command, args, env, endSignal }: ChildStart,
  signal: AbortSignal,
): Promise<number> {
  signal.throwIfAborted();
  const child = spawn(command, args, { env, stdio: "inherit", shell: false });
  const end = Promise.withResolvers<number>();
  child.once("error", (error) => {
    const code = "code" in error ? String(error.code) : "failed";
    end.reject(new UsageError(`${command} cannot be started (${code})`));
  });
  child.once("close", (code, name) => {
    end.resolve(code ?? 128 + (name === null ? 0 : constants.signals[name]));
  });
  let late: NodeJS.Timeout | undefined;
  const stop = (): void => {
    child.kill(endSignal);
    late = setTimeout(() => child.kill("SIGKILL"), endMs);
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await end.promise;
  } finally {
    signal.removeEventListener("abort", stop);
    clearTimeout(late);
  }
}
