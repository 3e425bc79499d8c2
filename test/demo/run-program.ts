import { spawn } from "node:child_process";

export interface ProgramOptions {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  /** Standard output and standard error in the order in which they came. */
  readonly output: string;
}

/** Runs a program to its end without standard input. Throws when it cannot be started, was killed, or the signal aborts. */
export async function runProgram(
  words: readonly string[],
  { cwd, environment, signal }: ProgramOptions,
): Promise<ProgramResult> {
  signal.throwIfAborted();
  const [program = "", ...args] = words;
  const child = spawn(program, args, {
    cwd,
    env: environment,
    signal,
    // A group of its own: Ctrl-C goes to the demo alone, which ends its programs in order.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (output += text));
  const end = Promise.withResolvers<number | null>();
  child.once("error", end.reject);
  child.once("close", end.resolve);
  const code = await end.promise.catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new Error(`${program} cannot be run`, { cause });
  });
  signal.throwIfAborted();
  if (code === null) throw new Error(`${program} was killed`);
  return { code, stdout, output };
}
