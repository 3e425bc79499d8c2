import { CommanderError } from "commander";

import { withTimeout } from "../../access/time/deadline.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { plainText } from "../../api/foreign-text.ts";
import type { ActionInput, CommandEntry } from "./action.ts";
import { type ExitCode, exitCodes } from "./errors.ts";
import { MalformedObjects } from "./hub/malformed-objects.ts";
import type { Terminal } from "./output/terminal.ts";

/** A command with its flags, which were parsed and checked. */
export interface Chosen {
  readonly entry: CommandEntry;
  readonly input: ActionInput<object>;
}

/** Loads and runs a command within its time limit. Returns its exit code, and throws what its action throws. */
export async function runAction({ entry, input }: Chosen, signal: AbortSignal): Promise<number> {
  const deadline = deadlineOf({ entry, input }, signal);
  const action = await entry.load();
  const malformed = new MalformedObjects();
  const asked = { ...input, flags: { ...input.flags, malformed } };
  const exitCode = await action(await onFleet({ entry, input: asked }, deadline, signal), deadline);
  tellMalformed(malformed, asked);
  const isIncomplete = malformed.errors.length > 0 && !neverFails(input);
  return exitCode === exitCodes.fine && isIncomplete ? exitCodes.incomplete : exitCode;
}

/** Names what the command has left out and its output has not named. */
function tellMalformed(malformed: MalformedObjects, { flags, terminal }: Chosen["input"]): void {
  const errors = malformed.tell();
  if (flags.quiet) return;
  for (const { message } of errors) terminal.stderr.write(`error: ${plainText(message)}\n`);
}

function neverFails({ options }: Chosen["input"]): boolean {
  return "failOn" in options && options.failOn === "never";
}

/** The input of a command, with the bundle read when it works on one. The time for the whole command counts for that, too. */
async function onFleet(
  { entry, input }: Chosen,
  deadline: AbortSignal,
  signal: AbortSignal,
): Promise<Chosen["input"]> {
  const { bundle: path, recorded, timeoutGiven, timeoutMs } = input.flags;
  // The page and the tools for assistants run commands on the bundle that they have read.
  if (path === undefined || recorded !== undefined) return input;
  const isOwn = entry.ownTimeout === true && timeoutGiven && timeoutMs > 0;
  const limit = isOwn ? withTimeout(systemClock, timeoutMs, signal) : deadline;
  const { onBundle } = await import("./bundle/on-bundle.ts");
  return await onBundle(input, { ...entry, path }, limit);
}

/** A command that watches has no time limit without `--timeout`. */
function deadlineOf(
  { entry, input: { flags, options } }: Chosen,
  signal: AbortSignal,
): AbortSignal {
  const watches =
    ("watch" in options && options.watch === true) ||
    ("follow" in options && options.follow === true);
  if (entry.ownTimeout === true || (watches && !flags.timeoutGiven)) return signal;
  return withTimeout(systemClock, flags.timeoutMs, signal);
}

interface Failed {
  readonly terminal: Pick<Terminal, "stderr">;
  /** Undefined: the command line was not understood. */
  readonly chosen: Chosen | undefined;
  /** The command line for help. */
  readonly help: string;
}

/** Explains a failure on standard error, and with `-o json` or `yaml` also in a document. Returns the exit code. */
export async function explainFailure(
  error: unknown,
  { terminal, chosen, help }: Failed,
  signal: AbortSignal,
): Promise<ExitCode> {
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.fine;
  if (signal.aborted) return exitCodes.interrupted;
  const { failureOf, failureReason } = await import("./failure.ts");
  const { commandsOf, renderFailure, withHubSteps } = await import("./output/steps.ts");
  const explained = failureOf(error, help);
  const failure =
    chosen === undefined
      ? explained
      : withHubSteps(explained, commandsOf({ ...chosen.input.flags, bundle: undefined }));
  terminal.stderr.write(renderFailure(failure));
  const { kind } = chosen?.entry ?? {};
  if (chosen !== undefined && kind !== undefined && !isPrinted(error)) {
    const { printFailedReport } = await import("./action.ts");
    const report = { kind, reason: failureReason(error), message: failure.error };
    await printFailedReport(report, chosen.input);
  }
  return exitCodes.failed;
}

/** Whether the command printed its document before it failed. */
function isPrinted(error: unknown): boolean {
  return error instanceof Error && "isPrinted" in error && error.isPrinted === true;
}
