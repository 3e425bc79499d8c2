import { oneOf } from "../../flags.ts";
import { filenameFlag, forTools, noLiveFlag, parsed, toggle } from "../../main/command-flags.ts";
import { command, installationNames } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";
import { parseDurationMs } from "../../output/duration.ts";

/** `events`: the Events of hub and spokes on one time line. */
export const events = command({
  name: "events",
  args: installationNames,
  summary: "Show the Events of hub and spokes on one time line",
  text: "Events of the selected installations and of their ClusterProfiles on the hub, and of the namespaces of the installations on their clusters,\nby time. A cluster that cannot be read is named below the table. Warnings InternalError are what the upstream operator tells in no condition:\nthey are named below the table, too.",
  examples: [
    ["kubectl knfleet events ks/knative-serving -n team-a", "of one installation"],
    ["kubectl knfleet events -A --types Warning", "all warnings of the fleet"],
    ["kubectl knfleet events -A --no-live", "of the hub alone"],
    ["kubectl knfleet events ks -A -w", "and what comes"],
    ["kubectl knfleet events -A -w -o json", "the same, one object a line"],
    ["kubectl knfleet events -A --since 10m -o json", "of the last minutes, for scripts"],
  ],
  options: {
    filename: filenameFlag(),
    types: forTools(
      parsed("--types <types>", "only these, such as Warning or Normal,Warning", typesOf),
    ),
    since: forTools(
      parsed("--since <duration>", "not older than this", parseDurationMs),
      "Not older than this duration, such as 30m or 2h",
      20,
    ),
    live: noLiveFlag("the hub's"),
    watch: toggle("-w, --watch", "go on with what comes; --timeout ends it"),
  },
  document: "EventList",
  tool: selectionArguments,
  async run(fleet, { types = [], since, live, watch }) {
    const filter = { types, sinceMs: since, live };
    return watch
      ? await (await import("./watch-events.ts")).followEvents(fleet, filter)
      : await (await import("../../fleet/events.ts")).readEvents(fleet, filter);
  },
});

function typesOf(text: string, flag: string): readonly string[] {
  const types = text.toLowerCase().split(",");
  return types
    .filter((type) => type !== "")
    .map((type) => oneOf(type, ["normal", "warning"], flag));
}
