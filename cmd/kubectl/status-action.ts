import { askedOf, limitsOf, print, tableText, timesOf, type ActionInput } from "./action.ts";
import { clientVersion } from "./client-version.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { FilenameFlag } from "./filename-option.ts";
import { oneOf } from "./flags.ts";
import { nameOf } from "./installation-name.ts";
import { openClusterAccess } from "./open-cluster-access.ts";
import { painter, wantsColour } from "./print/colour.ts";
import { statusNotes } from "./print/notes.ts";
import { openProgress } from "./print/progress.ts";
import { sortedBy } from "./print/sorted.ts";
import { statusDetailText } from "./print/status-detail-text.ts";
import { statusTable } from "./print/status-table.ts";
import { askedSelection } from "./selection-file.ts";
import type { Selection } from "./selection.ts";
import type { StatusItem } from "./status-item.ts";
import { status, statusExitCode, type FleetStatus } from "./status.ts";

/** Flags of `status` alone. */
export interface StatusFlags extends FilenameFlag {
  readonly live?: boolean;
  readonly failOn?: string;
  readonly watch?: boolean;
}

type Input = ActionInput<StatusFlags>;

/** `kubectl knfleet status`. */
export async function runStatus(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const failOn = oneOf(options.failOn ?? "error", ["error", "warning", "never"], "--fail-on");
  const { env } = terminal;
  const spokes = options.live ?? true;
  await using access = await openClusterAccess(flags, { env, spokes }, signal);
  const selection = await askedSelection(input, access, signal);
  const context = { access, selection };
  const report = await readFleet(input, context, signal);
  await printReport(report, input, selection);
  if (options.watch === true) await watch(report, input, { ...context, signal });
  return statusExitCode(report, failOn);
}

interface Context {
  readonly access: ClusterAccess;
  readonly selection: Selection;
}

async function readFleet(
  { flags, options, terminal }: Input,
  { access, selection }: Context,
  signal: AbortSignal,
): Promise<FleetStatus> {
  const { now, stderr } = terminal;
  const progress = openProgress(flags.quiet ? undefined : stderr, flags);
  const limits = limitsOf(flags, progress.update);
  const report = await status(
    { selection, live: options.live ?? true, limits },
    { access, now, cliVersion: clientVersion },
    signal,
  ).finally(progress.end);
  return sortedBy(report, flags.sortBy);
}

async function printReport(
  report: FleetStatus,
  { flags, options, terminal }: Input,
  selection: Selection,
): Promise<void> {
  if (options.watch === true && isStream(flags)) {
    terminal.stdout.write(streamText(report.items));
    return;
  }
  if (flags.output === "html") {
    terminal.stdout.write((await import("./print/status-html.ts")).statusHtml(report));
    return;
  }
  const times = timesOf(flags, terminal);
  await print(
    {
      document: report,
      table: (wide) => statusTable(report, wide, times),
      footer: flags.output === "table" ? detailText(report, { flags, terminal }) : "",
      names: report.items.map(nameOf),
      notes: statusNotes(report, askedOf(selection, flags)),
    },
    flags,
    terminal,
  );
}

function detailText(
  { items }: FleetStatus,
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): string {
  const [item] = items;
  if (item === undefined || item.detail === null) return "";
  const { stdout, env } = terminal;
  const paint = painter(wantsColour(flags.color, env, stdout.isTTY === true));
  return statusDetailText(item, item.detail, { ages: timesOf(flags, terminal), paint });
}

/** Rows that changed, as `kubectl get --watch` prints them; with `-o json` one object a line. */
async function watch(
  first: FleetStatus,
  input: Input,
  { access, selection, signal }: Context & { readonly signal: AbortSignal },
): Promise<void> {
  const { flags, terminal } = input;
  const { watchStatus } = await import("./status-watch.ts");
  const quiet = { ...input, flags: { ...flags, quiet: true } };
  let report: FleetStatus | undefined = first;
  const read = async (): Promise<readonly StatusItem[]> => {
    const now = report ?? (await readFleet(quiet, { access, selection }, signal));
    report = undefined;
    return now.items;
  };
  let isFirst = true;
  const show = (changed: readonly StatusItem[]): void => {
    if (!isFirst) terminal.stdout.write(changedText(changed, { ...first, items: changed }, input));
    isFirst = false;
  };
  await watchStatus(read, show, { access, selection, signal });
}

function changedText(
  changed: readonly StatusItem[],
  report: FleetStatus,
  { flags, terminal }: Input,
): string {
  if (isStream(flags)) return streamText(changed);
  if (flags.output === "name") return changed.map((item) => `${nameOf(item)}\n`).join("");
  const table = statusTable(report, flags.output === "wide", timesOf(flags, terminal));
  return tableText(table, { ...flags, headers: false }, terminal);
}

function isStream({ output }: Input["flags"]): boolean {
  return output === "json" || output === "yaml";
}

function streamText(items: readonly StatusItem[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join("");
}
