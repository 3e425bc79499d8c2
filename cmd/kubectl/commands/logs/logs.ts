import { componentKeyOf } from "../../../../api/component.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { checkStreamFlags } from "../../action.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { type LogFilter, readLogs } from "../../fleet/read-logs.ts";
import { listInstallations } from "../../hub/installations.ts";
import { following } from "../../main/following.ts";
import type { Looks, Report } from "../../main/report.ts";
import { notFoundErrors } from "../../output/report.ts";
import { missingNames } from "../../selection/selection.ts";
import type { LogItem } from "../../spokes/log-line.ts";
import { followLogs } from "./follow-logs.ts";

/** Flags of `logs`. */
interface LogsFlags {
  /** In ms. */
  readonly since: number | undefined;
  /** -1: all lines. */
  readonly tail: number | undefined;
  readonly container: string | undefined;
  readonly timestamps: boolean;
  readonly maxStreams: number | undefined;
  readonly live: boolean;
}

const defaultTail = 20;
const defaultStreams = 50;

/** The log lines about the selected installations. Throws only when the hub cannot be read, and UsageError for a bundle without logs. */
export async function logReport(fleet: Fleet, flags: LogsFlags): Promise<Report<LogItem>> {
  await checkRecorded(fleet);
  const report = await readLogs(fleet, filterOf(flags, fleet), flags.live);
  return {
    ...report,
    line: lineOf(flags),
    notes: () => (report.items.length === 0 ? ["No log lines found."] : []),
  };
}

/** The same, and what comes. Throws as `logReport`. */
export async function logStream(fleet: Fleet, flags: LogsFlags): Promise<Report<LogItem>> {
  checkStreamFlags(fleet.flags, "-f");
  await checkRecorded(fleet);
  const filter = filterOf(flags, fleet);
  const [access, selection] = [await fleet.access(), await fleet.selection()];
  const listed = await listInstallations(access, selection, fleet.signal);
  const names = missingNames(selection, listed.map(componentKeyOf));
  const report = { summary: null, errors: [], line: lineOf(flags) };
  const waiting = listed.length === 0 ? "No installation matches yet: waiting for one." : undefined;
  return {
    ...report,
    items: [],
    follow: following(selection, notFoundErrors(names), (show, trouble, tell) => {
      if (waiting !== undefined && !fleet.flags.quiet) tell([waiting]);
      const line = (item: LogItem): void => show({ ...report, items: [item] });
      const options = { access, limits: fleet.flags, live: flags.live, selection, filter };
      return followLogs({ ...options, sink: { line, trouble } }, fleet.signal);
    }),
  };
}

async function checkRecorded({ flags: { recorded } }: Fleet): Promise<void> {
  if (recorded !== undefined) (await import("../../bundle/recorded-logs.ts")).logsOf(recorded);
}

function filterOf(
  { since, tail, container, maxStreams }: LogsFlags,
  { flags: { recorded }, now }: Fleet,
): LogFilter {
  const lines = tail ?? (since === undefined ? defaultTail : -1);
  // Reading a bundle opens no connections.
  const most = recorded === undefined ? defaultStreams : Number.POSITIVE_INFINITY;
  return {
    sinceTime: since === undefined ? undefined : new Date(now().getTime() - since).toISOString(),
    tail: lines < 0 ? undefined : lines,
    container,
    maxStreams: maxStreams ?? most,
  };
}

/** The text of a line: cluster, pod and container in front, in yellow on a terminal. Control characters are removed. */
function lineOf({ timestamps }: LogsFlags) {
  return ({ time, cluster, pod, container, line }: LogItem, { paint }: Looks): string => {
    const source = paint(plainText(`${cluster ?? "<hub>"} ${pod} ${container}`), "warning");
    const stamp = timestamps ? ` ${plainText(time ?? "<unknown>")}` : "";
    // A stack trace keeps its indentation.
    const [indent = ""] = /^[ \t]*/.exec(line) ?? [];
    return `${source}${stamp} ${indent.replaceAll("\t", "    ")}${plainText(line)}\n`;
  };
}
