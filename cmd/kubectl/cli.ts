import { CommanderError } from "commander";

import { exitCodes, type ExitCode } from "./exit-codes.ts";
import { normalizedArgs, refuseKubectlOnly } from "./flags.ts";
import { createProgram, greeting } from "./program.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Runs one `kubectl knfleet` command line to its exit code. Never rejects: what goes wrong is explained on standard
 * error. An abort of the signal means that the user interrupted: what is known is printed, the exit code is 130.
 */
export async function runCli(terminal: Terminal, signal: AbortSignal): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.fine;
  const program = createProgram(terminal, async (entry, input) => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(input.flags.timeoutMs)]);
    const action = await entry.load();
    exitCode = await action(input, deadline);
    return exitCode;
  });
  try {
    const args = normalizedArgs(terminal.args);
    refuseKubectlOnly(args);
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    exitCode = await explain(error, terminal, signal);
  }
  return signal.aborted ? exitCodes.interrupted : exitCode;
}

async function explain(error: unknown, terminal: Terminal, signal: AbortSignal): Promise<ExitCode> {
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.fine;
  if (error instanceof CommanderError && error.code === "commander.help") {
    terminal.stdout.write(greeting());
    return exitCodes.fine;
  }
  if (signal.aborted) return exitCodes.interrupted;
  const { failureOf } = await import("./failure.ts");
  const { renderFailure } = await import("./print/failure.ts");
  terminal.stderr.write(renderFailure(failureOf(error)));
  return exitCodes.failed;
}
