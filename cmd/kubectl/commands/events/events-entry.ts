import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { filenameOption } from "../../selection/filename-option.ts";

/** `events` on the command line. */
export function eventsEntry(): CommandEntry {
  return {
    name: "events",
    args: "[TYPE[/NAME] | NAME...]",
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
    options: [
      filenameOption(),
      new Option("--types <types>", "only these, such as Warning or Normal,Warning"),
      new Option("--since <duration>", "not older than this"),
      new Option("--no-live", "only the hub's: no spoke is reached"),
      new Option("-w, --watch", "go on with what comes; --timeout ends it"),
    ],
    kind: "EventList",
    readsBundles: true,
    completes: "installations",
    load: async () => (await import("./events-action.ts")).runEvents,
  };
}
