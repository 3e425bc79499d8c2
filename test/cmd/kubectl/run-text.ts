import { runCli } from "../../../cmd/kubectl/cli.ts";
import type { Output } from "../../../cmd/kubectl/output/terminal.ts";
import { now } from "./fleet-facts.ts";

export interface RunText {
  readonly env?: Readonly<Record<string, string>>;
  /** Width of the terminal that standard output is; absent: it is none. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
  /** The time at which it is run; absent: 2026-11-21 at noon. */
  readonly at?: Date;
}

/** Runs one command line inside this process, and returns what it wrote. */
export async function runText(
  args: readonly string[],
  { env = {}, columns, at = now, signal = AbortSignal.timeout(60_000) }: RunText = {},
): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
  const written = { stdout: "", stderr: "" };
  const output = (name: keyof typeof written): Output => ({
    ...(columns === undefined ? {} : { isTTY: true, columns }),
    write: (text) => (written[name] += text),
  });
  const terminal = {
    args,
    env,
    stdout: output("stdout"),
    stderr: output("stderr"),
    now: () => at,
  };
  const exitCode = await runCli(terminal, signal);
  return { exitCode, ...written };
}
