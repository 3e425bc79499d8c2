import { askedOf, limitsOf, print, selectionOf, timesOf, type ActionInput } from "../action.ts";
import type { TimeText } from "../age.ts";
import { clientVersion } from "../client-version.ts";
import { parseDurationMs } from "../duration.ts";
import type { ExitCode } from "../exit-codes.ts";
import { openClusterAccess } from "../open-cluster-access.ts";
import { unreadNotes } from "../print/notes.ts";
import { openProgress } from "../print/progress.ts";
import { sortedBy } from "../print/sorted.ts";
import { orNone, type Table } from "../print/table.ts";
import { events, eventsExitCode, type EventItem, type EventList } from "./events.ts";

/** Flags of `events` alone. */
export interface EventsFlags {
  readonly types?: string;
  readonly since?: string;
  readonly live?: boolean;
}

/** `kubectl knfleet events`. */
export async function runEvents(
  { args, flags, options, terminal }: ActionInput<EventsFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { since, types = "", live = true } = options;
  const filter = {
    types: types
      .toLowerCase()
      .split(",")
      .filter((type) => type !== ""),
    sinceMs: since === undefined ? undefined : parseDurationMs(since, "--since"),
  };
  const { env, now, stderr } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: live }, signal);
  const selection = selectionOf(args, flags, access);
  const progress = openProgress(flags.quiet ? undefined : stderr);
  const limits = limitsOf(flags, progress.update);
  const found = await events(
    { selection, filter },
    { access, limits, live, now, cliVersion: clientVersion },
    signal,
  ).finally(progress.end);
  const list = sortedBy(found, flags.sortBy);
  await print(
    {
      document: list,
      table: (wide) => eventsTable(list.items, wide, timesOf(flags, terminal)),
      notes: notesOf(list, askedOf(selection, flags)),
    },
    flags,
    terminal,
  );
  return eventsExitCode(list);
}

function eventsTable(items: readonly EventItem[], wide: boolean, ages: TimeText): Table {
  const headers = ["LAST SEEN", "CLUSTER", "TYPE", "REASON", "OBJECT"];
  return {
    headers: [...headers, ...(wide ? ["COUNT", "FROM"] : []), "MESSAGE"],
    mayShorten: ["MESSAGE"],
    rows: items.map(({ time, cluster, type, reason, about, count, from, message }) => [
      ages(time),
      cluster ?? "<hub>",
      type === "Warning" ? { text: type, tone: "warning" } : type,
      orNone(reason),
      `${(about.kind ?? "").toLowerCase()}/${about.name ?? ""}`,
      ...(wide ? [String(count), orNone(from)] : []),
      orNone(message),
    ]),
  };
}

function notesOf(list: EventList, asked: ReturnType<typeof askedOf>): readonly string[] {
  // Spec: cli.md D2. No condition says what these say.
  const hidden = list.items.filter(
    ({ reason, type }) => reason === "InternalError" && type === "Warning",
  );
  return [
    ...(list.items.length === 0 ? ["No events found."] : []),
    ...(hidden.length === 0
      ? []
      : [
          `${hidden.length} × InternalError: a step failed of which no condition speaks.`,
          `next: ${asked.command} explain InternalError`,
        ]),
    ...unreadNotes(list.errors, { unread: list.summary.unread, clusters: list.summary.clusters }),
  ];
}
