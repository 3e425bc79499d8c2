import { isRecord } from "../../../api/fields.ts";
import { type ActionInput, print, type Rendering, tableText, timesOf } from "../action.ts";
import type { ExitCode } from "../errors.ts";
import { widthOf } from "../output/characters.ts";
import { tableOf } from "../output/columns.ts";
import { isMissing, unreadNotes } from "../output/notes.ts";
import { listExitCode, type ReportDocument, reportOf, stampAt } from "../output/report.ts";
import { commandsOf } from "../output/steps.ts";
import { painterFor } from "../output/terminal.ts";
import type { Looks, ReadCounts, Report } from "./report.ts";

type Input = Pick<ActionInput<unknown>, "flags" | "terminal">;

/** Lines as one text. */
export function linesOf(lines: readonly string[]): string {
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
  const columns = widthOf(stdout);
  return {
    isWide,
    paint: painterFor(terminal, flags.color),
    width: isWide ? undefined : columns,
    isTerminal: stdout.isTTY === true,
    columns,
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
