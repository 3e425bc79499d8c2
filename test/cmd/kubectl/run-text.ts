import { runCli } from "../../../cmd/kubectl/cli.ts";
import type { Output } from "../../../cmd/kubectl/output/terminal.ts";
import { now } from "./fleet-facts.ts";

export interface RunText {
  readonly env?: Readonly<Record<string, string>>;
  /** Width of the terminal that standard output is; absent: it is none. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
  /** The time at which it is run, and at which it stays; absent: 2026-11-21 at noon. */
  readonly at?: Date;
}

interface RanText {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one command line inside this process, and returns what it wrote. */
export async function runText(
  args: readonly string[],
  { at = now, ...options }: RunText = {},
): Promise<RanText> {
  return runAt(() => at, args, options);
}

/** The same now, with the PATH and HOME of the tests, for clusters that are far away: it may take two minutes. */
export function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RanText> {
  const { PATH = "", HOME = "" } = process.env;
  const signal = AbortSignal.timeout(120_000);
  return runAt(() => new Date(), args, { env: { PATH, HOME, ...env }, signal });
}

async function runAt(
  time: () => Date,
  args: readonly string[],
  { env = {}, columns, signal = AbortSignal.timeout(60_000) }: Omit<RunText, "at">,
): Promise<RanText> {
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
    now: time,
  };
  const exitCode = await runCli(terminal, signal);
  return { exitCode, ...written };
}
