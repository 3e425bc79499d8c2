import { forTools, noLiveFlag, toggle } from "../../main/command-flags.ts";
import { command, noArguments } from "../../main/command.ts";

/** `version`: the versions of this program, the hub, the controller and the installations. */
export const version = command({
  name: "version",
  args: noArguments,
  summary: "Show the versions of this program, the hub, the controller and the installations",
  text: "The versions of this program, of the controller with the plugins that its images bring, of Kubernetes on the hub, and of every\ninstallation of all namespaces (or of -n): what the spec wants, what the hub says is installed, what the Deployments on the cluster are of,\nKubernetes there, the newest version that one step leads to, and which of them do not agree. Spokes are read when there is a provider file.\nEach line Replica names a pod of the controller and the shards that it serves, or the leader where there is one shard; what no replica\nserves is told as <none>.",
  exits: { 1: "with --strict: versions do not agree" },
  examples: [
    ["kubectl knfleet version", "everything"],
    ["kubectl knfleet version --strict", "code 1 when something does not agree"],
    ["kubectl knfleet version --no-live", "without reaching any spoke"],
    ["kubectl knfleet version --client", "this program only; no hub is asked"],
  ],
  options: {
    client: forTools(
      toggle("--client", "this program's version only"),
      "Only the version of this program; no hub is asked",
    ),
    live: noLiveFlag(),
    strict: toggle("--strict", "code 1 when versions do not agree"),
  },
  document: "Version",
  tool: ["namespace", "cluster", "on"],
  looksEverywhere: true,
  run: async (fleet, options) => (await import("./version.ts")).readVersions(fleet, options),
});
