import { askedOf, isNarrowed, limitsOf } from "../../action.ts";
import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { StatusItem } from "../../fleet/status-item.ts";
import { ofSet, setsTable, wantedSetOf } from "../../fleet/status-sets.ts";
import type { Before } from "../../fleet/status-since.ts";
import { statusDetailText, statusTable, withBefore } from "../../fleet/status-text.ts";
import {
  type FleetStatus,
  status,
  statusExitCode,
  type StatusOptions,
} from "../../fleet/status.ts";
import type { FailOn } from "../../main/command-flags.ts";
import type { Looks, Report } from "../../main/report.ts";
import { nameOf } from "../../output/names.ts";
import { controllerLines, goneNotes, notFoundLines, statusNotes } from "../../output/notes.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ReadLimits } from "../../spokes/read-clusters.ts";
import { watchStatus } from "./status-watch.ts";

/** Flags of `status`. */
interface StatusFlags {
  readonly live: boolean;
  readonly failOn: FailOn | undefined;
  readonly strict: boolean;
  readonly watch: boolean;
  readonly since: string | undefined;
  readonly set: string | undefined;
}

/** Every selected installation, worst first, and the fleet sets. With `watch` it goes on. Throws only when the hub cannot be read, and UsageError. */
export async function statusReport(fleet: Fleet, flags: StatusFlags): Promise<Report<StatusItem>> {
  const failOn = failOnOf(flags);
  const access = flags.watch ? await fleet.lastingAccess() : await fleet.access();
  const { selection, sets } = await askedFor(fleet, flags);
  const { keep, before } = await changesSince(fleet, flags, selection);
  const { recorded, output } = fleet.flags;
  const { recordedAt } = recorded ?? {};
  const read = (limits: ReadLimits): Promise<FleetStatus> => {
    const timeMs = (recordedAt ?? fleet.now()).getTime();
    const options: StatusOptions = {
      selection,
      sets,
      keep,
      live: flags.live,
      limits,
      // A bundle has none, and a watch would list them again and again.
      workloads: output === "wide" && recorded === undefined && !flags.watch,
      replicas: { timeMs, isRecorded: recorded !== undefined },
    };
    return status(options, { access, now: fleet.now }, fleet.signal);
  };
  const first = await read(fleet.limits());
  const { summary, errors, complete } = first;
  const report = {
    items: first.items,
    summary,
    errors,
    complete,
    fields: { sets: first.sets, controller: first.controller },
    exitCode: statusExitCode(first, failOn),
    tellsErrors: true as const,
  };
  if (output === "html") {
    const { statusHtml } = await import("../../page/status-html.ts");
    const written = { recordedAt, ...fleet.commands };
    return { ...report, formats: { html: (items) => statusHtml({ ...first, items }, written) } };
  }
  const asked = askedOf(selection, fleet.flags);
  return {
    ...report,
    tables: (looks, items) => {
      const table = statusTable(items, looks);
      const rows = before === undefined ? table : withBefore(table, items, before);
      return [rows, setsTable(first.sets ?? [], looks)];
    },
    footer: (looks, items) => (output === "table" ? detailText(items, looks) : ""),
    name: nameOf,
    warnings: controllerLines(first, asked),
    notes: (items) => [
      ...goneNotes(before),
      ...(flags.since !== undefined && items.length === 0
        ? [...notFoundLines(first), "Nothing changed."]
        : statusNotes({ ...first, items }, asked)),
    ],
    ...(flags.watch
      ? {
          follow: async (show, tell) => {
            const again = () => read(limitsOf(fleet.flags, undefined));
            const watching = { selection, first, read: again, show, tell, asked };
            return statusExitCode(await watchStatus(fleet, watching), failOn);
          },
        }
      : {}),
  };
}

/** Throws UsageError. */
function failOnOf({ failOn, strict }: StatusFlags): FailOn {
  if (!strict) return failOn ?? "error";
  if (failOn === undefined || failOn === "warning") return "warning";
  throw new UsageError("--strict is --fail-on=warning; use one of them");
}

/** The installations that the command line selects, and the sets: with `--set` one, without anything else that selects all. */
async function askedFor(
  fleet: Fleet,
  { set, since }: StatusFlags,
): Promise<Pick<StatusOptions, "selection" | "sets">> {
  const selection = await fleet.selection();
  if (set === undefined) {
    const isAll = !isNarrowed(selection) && since === undefined;
    return { selection, ...(isAll ? { sets: "all" } : {}) };
  }
  const wanted = wantedSetOf(set);
  return { selection: ofSet(selection, wanted), sets: wanted };
}

/** The installations that `--since` selects, and how they were with a bundle. */
async function changesSince(
  { flags, now, signal }: Fleet,
  { since: text, live }: StatusFlags,
  selection: Selection,
): Promise<Pick<StatusOptions, "keep"> & { readonly before?: Before }> {
  if (text === undefined) return {};
  const { Before, changedSince, sinceOf } = await import("../../fleet/status-since.ts");
  const since = await sinceOf(text, flags.recorded?.recordedAt ?? now(), signal);
  if (since.kind === "time") {
    return { keep: (component, known) => changedSince(since.atMs, component, known) };
  }
  const { recordedAccess } = await import("../../bundle/recorded-client.ts");
  const all = { ...selection, failed: false, reason: undefined };
  const { items } = await status(
    { selection: all, live, limits: limitsOf(flags, undefined) },
    { access: recordedAccess(since.fleet, flags), now },
    signal,
  );
  const before = new Before(items);
  return { keep: (_, { item }) => before.isOther(item), before };
}

/** The detail of one installation. */
function detailText([item]: readonly StatusItem[], looks: Looks): string {
  return item === undefined || item.detail === null
    ? ""
    : statusDetailText(item, item.detail, looks);
}
