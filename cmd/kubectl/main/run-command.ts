import { once } from "node:events";
import { Writable } from "node:stream";

import { isRecord } from "../../../api/fields.ts";
import {
  type ActionInput,
  print,
  printFailedReport,
  type Rendering,
  tableText,
  timesOf,
} from "../action.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import { Fleet } from "../fleet/fleet.ts";
import { tableOf } from "../output/columns.ts";
import { isMissing, unreadNotes } from "../output/notes.ts";
import { isDocument, jsonLine } from "../output/output-format.ts";
import { listExitCode, type ReportDocument, reportOf, stampAt } from "../output/report.ts";
import { commandsOf, renderFailure, withHubSteps } from "../output/steps.ts";
import { documentOutput, painterFor } from "../output/terminal.ts";
import { type CommandFlags, valuesOf } from "./command-flags.ts";
import type { CommandSpec } from "./command-spec.ts";
import { isRedrawn, Place } from "./redrawn.ts";
import type { Answer, Looks, ReadCounts, Report } from "./report.ts";
import { Talk } from "./talk.ts";

type Input = Pick<ActionInput<unknown>, "flags" | "terminal">;

/** Runs a command on the fleet of its command line, prints what it has found, and returns the exit code. */
export async function runCommand<Flags extends CommandFlags, Item>(
  spec: CommandSpec<Flags, Item>,
  input: ActionInput<object>,
  signal: AbortSignal,
): Promise<ExitCode> {
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
): Promise<ExitCode> {
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
  const output = report.redraws === true ? new Place(stdout, isDrawn) : stdout;
  // What has a wrong form is told with the first report.
  const quiet = { ...flags, malformed: undefined };
  const show = async (part: Report<Item>, headers: boolean): Promise<void> => {
    if (isDocument(flags)) output.write(part.items.map(jsonLine).join(""));
    else {
      const shown = part === report ? flags : quiet;
      await printReport(kind, part, {
        terminal: { ...terminal, stdout: output },
        flags: { ...shown, headers },
      });
    }
  };
  await show(report, flags.headers);
  const tell = (lines: readonly string[]) => terminal.stderr.write(linesOf(lines));
  return await report.follow(show, tell);
}

function linesOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** Prints a report in the format of the command line. Returns its exit code. Throws UsageError. */
export async function printReport<Item>(
  kind: string,
  report: Report<Item>,
  input: Input,
): Promise<ExitCode> {
  const { flags, terminal } = input;
  const document = await sortedDocument(kind, report, input);
  const special = Object.entries(report.formats ?? {}).find(([name]) => name === flags.output);
  const notes = notesOf(report, document.items, input);
  if (special === undefined) {
    await print({ ...renderingOf(document, report, input), notes }, flags, terminal);
  } else {
    terminal.stdout.write(special[1](document.items));
    if (!flags.quiet) terminal.stderr.write(linesOf(notes));
  }
  return report.exitCode ?? listExitCode(document);
}

/** The document of a report. */
export function documentOf<Item>(
  kind: string,
  { items, summary, errors, complete = errors.every(isMissing), cliVersion }: Report<Item>,
  now: Date,
): ReportDocument<string, unknown, Item> {
  return reportOf(kind, stampAt(now, cliVersion), { complete, summary, items, errors });
}

async function sortedDocument<Item>(
  kind: string,
  report: Report<Item>,
  { flags: { sortBy }, terminal }: Input,
): Promise<ReportDocument<string, unknown, Item>> {
  const document = { ...documentOf(kind, report, terminal.now()), ...report.fields };
  if (sortBy === undefined) return document;
  const { sortedBy } = await import("../output/jsonpath.ts");
  return sortedBy(document, report.sortPath?.(sortBy) ?? sortBy);
}

function renderingOf<Item>(
  document: ReportDocument<string, unknown, Item>,
  { columns, footer, heading, line, name, tables, warnings }: Report<Item>,
  { flags, terminal }: Input,
): Omit<Rendering, "notes"> {
  const { items } = document;
  const looks = looksOf({ flags, terminal });
  const blocks = tables?.(looks, items)
    .map((table) => tableText(table, flags, terminal))
    .filter((block) => block !== "");
  const lines = line === undefined ? [] : items.map((item) => line(item, looks));
  const text = [heading?.(looks, items), blocks?.join("\n"), ...lines].join("");
  return {
    document,
    heading: text,
    footer: footer?.(looks, items),
    warnings,
    ...(columns === undefined ? {} : { table: () => tableOf(items, columns, looks) }),
    ...(name === undefined ? {} : { names: items.flatMap((item) => name(item) ?? []) }),
  };
}

function looksOf({ flags, terminal }: Input): Looks {
  const { stdout } = terminal;
  const isWide = flags.output === "wide";
  const isCut = stdout.isTTY === true && !isWide && (stdout.columns ?? 0) > 0;
  return {
    isWide,
    paint: painterFor(terminal, flags.color),
    width: isCut ? stdout.columns : undefined,
    times: timesOf(flags, terminal),
  };
}

function notesOf<Item>(
  report: Report<Item>,
  items: readonly Item[],
  { flags }: Input,
): readonly string[] {
  const { notes, counts = countsIn(report.summary), next, failure, tellsErrors } = report;
  // A failure is explained by itself.
  const errors = failure === undefined && tellsErrors !== true ? report.errors : [];
  const asked = { commands: commandsOf(flags), recorded: flags.bundle !== undefined };
  const advised = report.advises === false ? undefined : asked;
  return [
    ...(notes?.(items) ?? []),
    ...unreadNotes(errors, counts, advised),
    ...(next?.(items) ?? []),
  ];
}

function countsIn(summary: unknown): ReadCounts {
  const { clusters, unread } = isRecord(summary) ? summary : {};
  return { clusters: Number(clusters ?? 0), unread: Number(unread ?? 0) };
}
