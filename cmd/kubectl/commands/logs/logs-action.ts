import { componentKeyOf } from "../../../../api/component.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import {
  type ActionInput,
  askedOf,
  limitsOf,
  checkStreamFlags,
  openReading,
  print,
} from "../../action.ts";
import type { FilenameFlag } from "../../common-options.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import { listInstallations } from "../../hub/installations.ts";
import { parseDurationMs } from "../../output/duration.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { unreadNotes } from "../../output/notes.ts";
import { jsonLine } from "../../output/output-format.ts";
import { listExitCode } from "../../output/report.ts";
import { painterFor } from "../../output/terminal.ts";
import { readSelection } from "../../selection/selection-file.ts";
import { missingNames } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { followLogs } from "./follow-logs.ts";
import type { LogItem } from "./log-line.ts";
import { type LogFilter, readLogs } from "./read-logs.ts";

/** Flags of `logs` alone. */
interface LogsFlags extends FilenameFlag {
  readonly follow?: boolean;
  readonly since?: string;
  readonly tail?: string;
  readonly container?: string;
  readonly timestamps?: boolean;
  readonly maxStreams?: string;
  readonly live?: boolean;
}

const defaultTail = 20;
const defaultStreams = 50;
const waitingNote = "No installation matches yet: waiting for one.";

/** `kubectl knfleet logs`. */
export async function runLogs(
  input: ActionInput<LogsFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const { env, now } = terminal;
  const { recorded } = flags;
  // Reading a bundle opens no connections.
  const most = recorded === undefined ? defaultStreams : Number.POSITIVE_INFINITY;
  const filter = filterOf(options, now(), most);
  const { live = true, follow = false } = options;
  if (follow) checkStreamFlags(flags, "-f");
  if (recorded !== undefined) (await import("../../bundle/recorded-logs.ts")).logsOf(recorded);
  await using access = await openClusterAccess(flags, { env, spokes: live }, signal);
  if (follow) return await runFollow(input, { access, filter, live }, signal);
  const { limits, end } = openReading(flags, terminal);
  const selection = await readSelection(input, access, signal);
  const found = await readLogs(
    { selection, filter },
    { access, limits, live, now },
    signal,
  ).finally(end);
  const list = sortedBy(found, flags.sortBy);
  const { unread, clusters } = list.summary;
  const text = logText(input);
  await print(
    {
      document: list,
      heading: list.items.map(text).join(""),
      notes: [
        ...(list.items.length === 0 ? ["No log lines found."] : []),
        ...unreadNotes(list.errors, { unread, clusters }, askedOf(selection, flags)),
      ],
    },
    flags,
    terminal,
  );
  return listExitCode(list);
}

async function runFollow(
  input: ActionInput<LogsFlags>,
  {
    access,
    filter,
    live,
  }: { readonly access: ClusterAccess; readonly filter: LogFilter; readonly live: boolean },
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, terminal } = input;
  const selection = await readSelection(input, access, signal);
  const listed = await listInstallations(access, selection, signal);
  const missing = missingNames(selection, listed.map(componentKeyOf));
  const notes = missing.map((name) => `error: ${plainText(name)} not found\n`);
  terminal.stderr.write(notes.join(""));
  // A name that does not exist is a mistake; without names the command waits for components.
  if (missing.length > 0 && missing.length === selection.names.length) return exitCodes.unhealthy;
  if (listed.length === 0 && !flags.quiet) terminal.stderr.write(`${waitingNote}\n`);
  const outcome = { isComplete: true };
  const text = logText(input);
  const sink = {
    line: (item: Parameters<typeof text>[0]) =>
      terminal.stdout.write(flags.output === "json" ? jsonLine(item) : text(item)),
    trouble: (error: Parameters<typeof unreadNotes>[0][number]) => {
      outcome.isComplete = false;
      const lines = unreadNotes([error], { unread: 0, clusters: 0 });
      terminal.stderr.write(lines.map((line) => `${line.trim()}\n`).join(""));
    },
  };
  const limits = limitsOf(flags, undefined);
  await followLogs({ access, limits, live, selection, filter, sink }, signal);
  return outcome.isComplete ? exitCodes.fine : exitCodes.incomplete;
}

function filterOf(options: LogsFlags, now: Date, mostStreams: number): LogFilter {
  const { since, tail, container, maxStreams } = options;
  const sinceMs = since === undefined ? undefined : parseDurationMs(since, "--since");
  const fallback = sinceMs === undefined ? defaultTail : -1;
  const lines = tail === undefined ? fallback : numberOf(tail, "--tail");
  const streams = maxStreams === undefined ? mostStreams : numberOf(maxStreams, "--max-streams");
  if (streams < 1) throw new UsageError("--max-streams has to be 1 or more");
  return {
    sinceTime: sinceMs === undefined ? undefined : new Date(now.getTime() - sinceMs).toISOString(),
    tail: lines < 0 ? undefined : lines,
    container,
    maxStreams: streams,
  };
}

function numberOf(text: string, flag: string): number {
  if (/^(?:-1|\d{1,7})$/.test(text)) return Number(text);
  throw new UsageError(`Invalid value "${text}" for ${flag}: want a number`);
}

/** The text of a line: cluster, pod and container in front, in yellow on a terminal. Control characters are removed. */
function logText({
  flags,
  options,
  terminal,
}: Pick<ActionInput<{ readonly timestamps?: boolean }>, "flags" | "options" | "terminal">): (
  item: LogItem,
) => string {
  const paint = painterFor(terminal, flags.color);
  return ({ time, cluster, pod, container, line }) => {
    const source = `${cluster ?? "<hub>"} ${pod} ${container}`;
    const stamp = options.timestamps === true ? `${time ?? "<unknown>"} ` : "";
    // A stack trace keeps its indentation.
    const [indent = ""] = /^[ \t]*/.exec(line) ?? [];
    const text = `${indent.replaceAll("\t", "    ")}${plainText(line)}`;
    return `${paint(plainText(source), "warning")} ${plainText(stamp)}${stamp === "" ? "" : " "}${text}\n`;
  };
}
