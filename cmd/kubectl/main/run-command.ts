import { once } from "node:events";
import { Writable } from "node:stream";

import { type ActionInput, printFailedReport } from "../action.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import { Fleet } from "../fleet/fleet.ts";
import { isDocument, jsonLine } from "../output/output-format.ts";
import { withOutput } from "../output/paged-output.ts";
import { commandsOf, renderFailure, withHubSteps } from "../output/steps.ts";
import { documentOutput } from "../output/terminal.ts";
import { type CommandFlags, valuesOf } from "./command-flags.ts";
import type { CommandSpec } from "./command-spec.ts";
import { linesOf, printReport } from "./print-report.ts";
import { isRedrawn, Place } from "./redrawn.ts";
import type { Answer, Report } from "./report.ts";
import { Talk } from "./talk.ts";

type Input = Pick<ActionInput<unknown>, "flags" | "terminal">;

/** Runs a command on the fleet of its command line, prints what it has found, and returns the exit code. */
export async function runCommand<Flags extends CommandFlags, Item>(
  spec: CommandSpec<Flags, Item>,
  input: ActionInput<object>,
  signal: AbortSignal,
): Promise<number> {
  const values = valuesOf(spec.options, { ...input.options });
  const { live }: { readonly live?: unknown } = values;
  const reachesSpokes = spec.reachesSpokes ?? live !== false;
  const options = {
    reachesSpokes,
    selects: spec.args.selects === true,
    looksEverywhere: spec.looksEverywhere === true,
  };
  await using fleet = new Fleet(input, options, signal);
  const { document } = spec;
  const found = await spec.run(fleet, values, new Talk(input)).finally(() => fleet.endProgress());
  if (!("items" in found)) return await printAnswer(found, document, input, signal);
  if (document === undefined) throw new Error(`${spec.name} has a report and no document`);
  const { follow } = found;
  if (follow !== undefined) return await followReport(document, { ...found, follow }, input);
  const exitCode = await printReport(document, found, input);
  if (found.failure === undefined) return exitCode;
  throw Object.assign(found.failure, { isPrinted: true });
}

/** Prints an answer. Returns its exit code. `kind`: that of the documents of the command. */
async function printAnswer(
  { text = "", notes = [], failures = [], appendix = "", exitCode }: Answer,
  kind: string | undefined,
  { flags, terminal }: Input,
  signal: AbortSignal,
): Promise<number> {
  const { stderr } = terminal;
  await writeAll(typeof text === "string" ? [text] : text, terminal, signal);
  if (!flags.quiet) stderr.write(linesOf(notes));
  for (const { reason, ...failure } of failures) {
    stderr.write(renderFailure(withHubSteps(failure, commandsOf(flags))));
    if (reason === undefined || kind === undefined) continue;
    await printFailedReport({ kind, reason, message: failure.error }, { flags, terminal });
  }
  stderr.write(appendix);
  return exitCode ?? (failures.length > 0 ? exitCodes.unhealthy : exitCodes.fine);
}

/** Writes a text in pieces, and waits for a slow reader, so that a long text never fills the memory. */
async function writeAll(
  pieces: Iterable<string>,
  terminal: Input["terminal"],
  signal: AbortSignal,
): Promise<void> {
  const output = documentOutput(terminal);
  for (const piece of pieces) {
    const isTaken = output.write(piece) !== false;
    if (!isTaken && output instanceof Writable) await once(output, "drain", { signal });
  }
}

/** Prints a report, and then what changes. */
async function followReport<Item>(
  kind: string,
  report: Report<Item> & Required<Pick<Report<Item>, "follow">>,
  input: Input,
): Promise<ExitCode> {
  const { flags, terminal } = input;
  const { stdout, env } = terminal;
  const isDrawn = isRedrawn(stdout, env) && !isDocument(flags);
  const shown =
    report.redraws === true ? withOutput(terminal, new Place(stdout, isDrawn)) : terminal;
  // What has a wrong form is told with the first report.
  const quiet = { ...flags, malformed: undefined };
  const show = async (part: Report<Item>, headers: boolean): Promise<void> => {
    if (isDocument(flags)) shown.stdout.write(part.items.map(jsonLine).join(""));
    else {
      const told = part === report ? flags : quiet;
      await printReport(kind, part, { terminal: shown, flags: { ...told, headers } });
    }
  };
  await show(report, flags.headers);
  const tell = (lines: readonly string[]) => terminal.stderr.write(linesOf(lines));
  return await report.follow(show, tell);
}
