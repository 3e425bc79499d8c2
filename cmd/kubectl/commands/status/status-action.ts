import {
  type ActionInput,
  askedOf,
  isNarrowed,
  limitsOf,
  openReading,
  print,
  tableText,
  timesOf,
} from "../../action.ts";
import type { FilenameFlag } from "../../common-options.ts";
import { type ExitCode, UsageError } from "../../errors.ts";
import { oneOf } from "../../flags.ts";
import type { FailOn } from "../../main/command-flags.ts";
import { widthOf } from "../../output/characters.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { nameOf } from "../../output/names.ts";
import {
  controllerLines,
  goneNotes,
  notFoundLines,
  statusNotes,
  unreadNotes,
} from "../../output/notes.ts";
import { isDocument, isTable, jsonLine } from "../../output/output-format.ts";
import type { ReportError } from "../../output/report.ts";
import { painterFor } from "../../output/terminal.ts";
import { readSelection } from "../../selection/selection-file.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { keepSpokes } from "../../spokes/kept-spokes.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import type { StatusItem } from "./status-item.ts";
import { ofSet, setsTable, wantedSetOf } from "./status-sets.ts";
import type { Before } from "./status-since.ts";
import { statusDetailText, statusTable, withBefore } from "./status-text.ts";
import { type FleetStatus, status, statusExitCode, type StatusOptions } from "./status.ts";

/** Flags of `status` alone. */
interface StatusFlags extends FilenameFlag {
  readonly live?: boolean;
  readonly failOn?: string;
  readonly strict?: boolean;
  readonly watch?: boolean;
  readonly since?: string;
  readonly set?: string;
}

type Input = ActionInput<StatusFlags>;

/** `kubectl knfleet status`. */
export async function runStatus(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const failOn = failOnOf(options);
  const { env } = terminal;
  const spokes = options.live ?? true;
  await using ending = new AsyncDisposableStack();
  const opened = ending.use(await openClusterAccess(flags, { env, spokes }, signal));
  const access = options.watch === true ? ending.use(keepSpokes(opened)) : opened;
  const { selection, sets } = await askedFor(input, access, signal);
  const before = await changesSince(input, selection, signal);
  const context = { access, selection, ...sets, ...before };
  const report = await readFleet(input, context, signal);
  await printReport(report, input, context);
  const last = options.watch === true ? await watch(report, input, { ...context, signal }) : report;
  return statusExitCode(last, failOn);
}

/** Throws UsageError. */
function failOnOf({ failOn, strict }: StatusFlags): FailOn {
  if (strict === true && failOn !== undefined && failOn !== "warning") {
    throw new UsageError("--strict is --fail-on=warning; use one of them");
  }
  const value = strict === true ? "warning" : (failOn ?? "error");
  return oneOf(value, ["error", "warning", "never"], "--fail-on");
}

interface Context extends Pick<StatusOptions, "sets"> {
  readonly access: ClusterAccess;
  readonly selection: Selection;
  readonly keep?: StatusOptions["keep"];
  /** How it was, with `--since BUNDLE`. */
  readonly before?: Before;
}

/** The installations that the command line selects, and the sets: with `--set` one, without anything else that selects all. */
async function askedFor(
  input: Input,
  access: ClusterAccess,
  signal: AbortSignal,
): Promise<Pick<Context, "selection"> & { readonly sets: Pick<Context, "sets"> }> {
  const selection = await readSelection(input, access, signal);
  const { set, since } = input.options;
  if (set === undefined) {
    const isAll = !isNarrowed(selection) && since === undefined;
    return { selection, sets: isAll ? { sets: "all" } : {} };
  }
  const wanted = wantedSetOf(set);
  return { selection: ofSet(selection, wanted), sets: { sets: wanted } };
}

/** The installations that `--since` selects. */
async function changesSince(
  { options, flags, terminal: { now } }: Input,
  selection: Selection,
  signal: AbortSignal,
): Promise<Pick<Context, "keep" | "before">> {
  if (options.since === undefined) return {};
  const { Before, changedSince, sinceOf } = await import("./status-since.ts");
  const moment = flags.recorded?.recordedAt ?? now();
  const since = await sinceOf(options.since, moment, signal);
  if (since.kind === "time") {
    return { keep: (component, known) => changedSince(since.atMs, component, known) };
  }
  const { recordedAccess } = await import("../../bundle/recorded-client.ts");
  const all = { ...selection, failed: false, reason: undefined };
  const { items } = await status(
    { selection: all, live: options.live ?? true, limits: limitsOf(flags, undefined) },
    { access: recordedAccess(since.fleet, flags), now },
    signal,
  );
  const before = new Before(items);
  return { keep: (_, { item }) => before.isOther(item), before };
}

async function readFleet(
  { flags, options, terminal }: Input,
  { access, selection, sets, keep }: Context,
  signal: AbortSignal,
): Promise<FleetStatus> {
  const { now } = terminal;
  const { limits, end } = openReading(flags, terminal);
  const report = await status(
    {
      selection,
      live: options.live ?? true,
      limits,
      // A bundle has none, and a watch would list them again and again.
      workloads: flags.output === "wide" && flags.recorded === undefined && options.watch !== true,
      replicas: {
        timeMs: (flags.recorded?.recordedAt ?? now()).getTime(),
        isRecorded: flags.recorded !== undefined,
      },
      ...(sets === undefined ? {} : { sets }),
      ...(keep === undefined ? {} : { keep }),
    },
    { access, now },
    signal,
  ).finally(end);
  return sortedBy(report, flags.sortBy);
}

async function printReport(
  report: FleetStatus,
  { flags, options, terminal }: Input,
  { selection, before }: Context,
): Promise<void> {
  if (options.watch === true && isDocument(flags)) {
    terminal.stdout.write(streamText(report.items));
    return;
  }
  if (flags.output === "html") {
    const { statusHtml } = await import("./status-html.ts");
    const { kubectl, knfleet } = askedOf(selection, flags).commands;
    const recordedAt = flags.recorded?.recordedAt;
    terminal.stdout.write(statusHtml(report, { recordedAt, kubectl, knfleet }));
    return;
  }
  const times = timesOf(flags, terminal);
  const isQuiet = options.since !== undefined && report.items.length === 0;
  const notes = isQuiet
    ? [...notFoundLines(report), "Nothing changed."]
    : statusNotes(report, askedOf(selection, flags));
  await print(
    {
      document: report,
      table: (wide) => {
        const table = statusTable(report, wide, times);
        return before === undefined ? table : withBefore(table, report, before);
      },
      footer: footerText(report, { flags, terminal }),
      names: report.items.map(nameOf),
      warnings: controllerLines(report, askedOf(selection, flags)),
      notes: [...goneNotes(before), ...notes],
    },
    flags,
    terminal,
  );
}

/** Below the rows: the sets, and the detail of one installation. */
function footerText(
  report: FleetStatus,
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): string {
  const sets = report.sets ?? [];
  const table = tableText(setsTable(sets, flags.output === "wide"), flags, terminal);
  const gap = table === "" || report.items.length === 0 ? "" : "\n";
  const detail = flags.output === "table" ? detailText(report, { flags, terminal }) : "";
  return `${gap}${table}${detail}`;
}

function detailText(
  { items }: FleetStatus,
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): string {
  const [item] = items;
  if (item === undefined || item.detail === null) return "";
  return statusDetailText(item, item.detail, {
    ages: timesOf(flags, terminal),
    paint: painterFor(terminal, flags.color),
    width: widthOf(terminal.stdout),
  });
}

/** Rows that changed, as `kubectl get --watch` prints them; with `-o json` one object a line. Returns the fleet as it was at the end. */
async function watch(
  first: FleetStatus,
  input: Input,
  { signal, ...context }: Context & { readonly signal: AbortSignal },
): Promise<FleetStatus> {
  const { flags, terminal } = input;
  const { watchStatus } = await import("./status-watch.ts");
  const quiet = { ...input, flags: { ...flags, quiet: true } };
  let last = first;
  let headers = flags.headers && first.items.length === 0;
  const read = async (): Promise<readonly StatusItem[]> => {
    const now = await readFleet(quiet, context, signal);
    if (signal.aborted) return now.items;
    terminal.stdout.write(changedSetsText(now, last, input));
    if (!flags.quiet && now.controller?.message !== last.controller?.message) {
      const asked = askedOf(context.selection, flags);
      terminal.stderr.write(
        controllerLines(now, asked)
          .map((text) => `${text}\n`)
          .join(""),
      );
    }
    last = now;
    return now.items;
  };
  const show = (changed: readonly StatusItem[]): void => {
    const shown = { ...input, flags: { ...flags, headers } };
    terminal.stdout.write(changedText(changed, { ...first, items: changed }, shown));
    headers = false;
  };
  const onTrouble = (error: ReportError): void => {
    const lines = unreadNotes([error], { unread: 0, clusters: 0 });
    terminal.stderr.write(lines.map((line) => `${line.trim()}\n`).join(""));
  };
  await watchStatus({ ...context, first: first.items, read, show, onTrouble }, signal);
  return last;
}

function changedText(
  changed: readonly StatusItem[],
  report: FleetStatus,
  { flags, terminal }: Input,
): string {
  if (isDocument(flags)) return streamText(changed);
  if (flags.output === "name") return changed.map((item) => `${nameOf(item)}\n`).join("");
  const table = statusTable(report, flags.output === "wide", timesOf(flags, terminal));
  return tableText(table, flags, terminal);
}

/** The rows of the sets that changed, without headers; nothing where every line is an installation. */
function changedSetsText(
  now: FleetStatus,
  before: FleetStatus,
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): string {
  if (!isTable(flags)) return "";
  const shown = new Set((before.sets ?? []).map((set) => JSON.stringify(set)));
  const changed = (now.sets ?? []).filter((set) => !shown.has(JSON.stringify(set)));
  const table = setsTable(changed, flags.output === "wide");
  return tableText(table, { ...flags, headers: false }, terminal);
}

function streamText(items: readonly StatusItem[]): string {
  return items.map(jsonLine).join("");
}
