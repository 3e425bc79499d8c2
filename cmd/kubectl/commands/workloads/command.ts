import { filenameFlag, forTools, parsed, toggle } from "../../main/command-flags.ts";
import { command, installationNames, namesText } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";
import { parseDurationMs } from "../../output/duration.ts";

/** `workloads`: the objects by which the users of the clusters use Knative. */
export const workloads = command({
  name: "workloads",
  args: installationNames,
  summary: "List the Services, Triggers and sources of the users of the clusters",
  text: `The objects by which teams use the selected installations, and whether they are ready: Services, Routes and DomainMappings of Serving; Brokers, Triggers,\nChannels, Subscriptions, Parallels, Sequences and all sources of Eventing. What another object controls does not count. A kind that may not be listed, and\na cluster that cannot be read, are named below the table.\n${namesText}`,
  examples: [
    ["kubectl knfleet workloads -A", "of the whole fleet"],
    ["kubectl knfleet workloads -A --broken", "what does not work"],
    [
      "kubectl knfleet workloads ks -A --since 1h",
      "what broke in the last hour, as after an upgrade",
    ],
    ["kubectl knfleet workloads -A --broken -o json", "for scripts"],
  ],
  options: {
    filename: filenameFlag(),
    broken: forTools(toggle("--broken", "only what is not ready")),
    since: forTools(
      parsed("--since <duration>", "only what is older and broke since then", parseDurationMs),
      "Only what is older than this duration, such as 30m or 2h, and broke since then",
      20,
    ),
  },
  document: "WorkloadList",
  tool: selectionArguments,
  needsFleet: "a bundle has no objects of users",
  run: async (fleet, { broken, since }) =>
    (await import("../../fleet/workloads.ts")).listWorkloads(fleet, { broken, sinceMs: since }),
});
