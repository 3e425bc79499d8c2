import {
  type ActionInput,
  askedOf,
  checkStreamFlags,
  limitsOf,
  openReading,
  print,
  tableText,
  timesOf,
} from "../../action.ts";
import type { FilenameFlag } from "../../common-options.ts";
import type { ExitCode } from "../../errors.ts";
import { oneOf } from "../../flags.ts";
import { parseDurationMs, type TimeText } from "../../output/duration.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { unreadNotes } from "../../output/notes.ts";
import { jsonLine } from "../../output/output-format.ts";
import { listExitCode } from "../../output/report.ts";
import { stepLine } from "../../output/steps.ts";
import { orNone, type Table } from "../../output/table.ts";
import { readSelection } from "../../selection/selection-file.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { type EventFilter, type EventItem, type EventList, events, isAsked } from "./events.ts";
import { watchEvents } from "./watch-events.ts";

/** Flags of `events` alone. */
interface EventsFlags extends FilenameFlag {
  readonly types?: string;
  readonly since?: string;
  readonly live?: boolean;
  readonly watch?: boolean;
}

/** `kubectl knfleet events`. */
export async function runEvents(
  input: ActionInput<EventsFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const { live = true } = options;
  const filter = filterOf(options);
  if (options.watch === true) checkStreamFlags(flags, "-w");
  const { env, now } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: live }, signal);
  const selection = await readSelection(input, access, signal);
  const { limits, end } = openReading(flags, terminal);
  const found = await events({ selection, filter }, { access, limits, live, now }, signal).finally(
    end,
  );
  const list = sortedBy(found, flags.sortBy);
  if (options.watch === true) {
    return await watch(list, input, { access, selection, filter, signal });
  }
  await print(
    {
      document: list,
      table: (wide) => eventsTable(list.items, wide, timesOf(flags, terminal)),
      notes: notesOf(list, askedOf(selection, flags)),
    },
    flags,
    terminal,
  );
  return listExitCode(list);
}

function filterOf({ since, types = "" }: EventsFlags): EventFilter {
  return {
    types: types
      .toLowerCase()
      .split(",")
      .filter((type) => type !== "")
      .map((type) => oneOf(type, ["normal", "warning"], "--types")),
    sinceMs: since === undefined ? undefined : parseDurationMs(since, "--since"),
  };
}

interface WatchContext {
  readonly access: ClusterAccess;
  readonly selection: Selection;
  readonly filter: EventFilter;
  readonly signal: AbortSignal;
}

/** Prints the present Events, and then each new or repeated Event; with `-o json` one object a line. */
async function watch(
  first: EventList,
  { flags, options, terminal }: ActionInput<EventsFlags>,
  { access, selection, filter, signal }: WatchContext,
): Promise<ExitCode> {
  const { stdout, stderr, now } = terminal;
  const shown = new Set<string>();
  const show = (items: readonly EventItem[], headers: boolean): void => {
    const news = items.filter((item) => isAsked(item, filter, now()) && !shown.has(keyOf(item)));
    for (const item of news) remember(keyOf(item), shown);
    if (flags.output === "json") {
      stdout.write(news.map(jsonLine).join(""));
      return;
    }
    const table = eventsTable(news, flags.output === "wide", timesOf(flags, terminal));
    stdout.write(tableText(table, { ...flags, headers }, terminal));
  };
  const say = (errors: EventList["errors"]): void => {
    const lines = unreadNotes(errors, { unread: 0, clusters: 0 });
    stderr.write(lines.map((line) => `${line.trim()}\n`).join(""));
  };
  show(first.items, flags.headers);
  say(first.errors.filter(({ reason }) => reason === "NotFound"));
  // A name that does not exist is a mistake; without names the command waits for components.
  const missing = first.errors.filter(({ reason }) => reason === "NotFound");
  if (selection.names.length > 0 && missing.length === selection.names.length) {
    return listExitCode(first);
  }
  let isComplete = true;
  await watchEvents(
    {
      access,
      selection,
      live: options.live ?? true,
      limits: limitsOf(flags, undefined),
      onEvent: (event) => show([event], false),
      onTrouble: (error) => {
        isComplete = false;
        say([error]);
      },
    },
    signal,
  );
  return listExitCode({ ...first, complete: isComplete });
}

// A fleet has fewer Events at a time. The limit keeps a watch of several days from growing.
const mostRemembered = 50_000;

function remember(key: string, shown: Set<string>): void {
  shown.add(key);
  const [oldest] = shown;
  if (shown.size > mostRemembered && oldest !== undefined) shown.delete(oldest);
}

/** Key of an Event to print it once; a higher count makes another key. */
function keyOf({ cluster, about, reason, message, time, count }: EventItem): string {
  return JSON.stringify([cluster, about.uid, about.name, reason, message, time, count]);
}

function eventsTable(items: readonly EventItem[], wide: boolean, ages: TimeText): Table {
  const headers = ["LAST SEEN", "CLUSTER", "NAMESPACE", "TYPE", "REASON", "OBJECT"];
  return {
    headers: [...headers, ...(wide ? ["COUNT", "FROM"] : []), "MESSAGE"],
    mayShorten: ["MESSAGE"],
    rows: items.map(({ time, cluster, type, reason, about, count, from, message }) => [
      ages(time),
      cluster ?? "<hub>",
      orNone(about.namespace),
      type === "Warning" ? { text: type, tone: "warning" } : type,
      orNone(reason),
      `${(about.kind ?? "").toLowerCase()}/${about.name ?? ""}`,
      ...(wide ? [String(count), orNone(from)] : []),
      orNone(message),
    ]),
  };
}

function notesOf(list: EventList, asked: ReturnType<typeof askedOf>): readonly string[] {
  // Spec: cli.md D2. No condition carries this information.
  const hidden = list.items.filter(
    ({ reason, type }) => reason === "InternalError" && type === "Warning",
  );
  return [
    ...(list.items.length === 0 ? ["No events found."] : []),
    ...(hidden.length === 0
      ? []
      : [
          `${hidden.length} × InternalError: a step failed of which no condition speaks.`,
          stepLine("kubectl knfleet explain InternalError"),
        ]),
    ...unreadNotes(list.errors, list.summary, asked),
  ];
}
