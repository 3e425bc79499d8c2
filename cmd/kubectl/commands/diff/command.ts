import { renderingFlags } from "../../compare/rendering-options.ts";
import { command, installationNames } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";

/** `diff`: how clusters differ from what the controller makes of them. */
export const diff = command({
  name: "diff",
  args: installationNames,
  summary: "Compare what clusters have with what would be installed",
  text: "How the clusters of the selected installations differ from what the controller of this version makes of them, as unified diffs: what is\nlive on the left, what would be applied on the right. Only fields that the controller writes count; what a cluster fills in, an\nautoscaler decides or somebody adds is no difference. The API servers are asked by dry runs; nothing is changed. Values of Secrets\nare not shown, but that they differ is.",
  exits: {
    0: "no difference",
    1: "something differs, or what was named does not exist",
    3: "a cluster could not be read, and nothing differs elsewhere",
  },
  examples: [
    ["kubectl knfleet diff ks/knative-serving -n team-a", "one installation"],
    ["kubectl knfleet diff -A -o wide", "the fleet as a table"],
    ["KUBECTL_EXTERNAL_DIFF=meld kubectl knfleet diff ks/a", "in a program of your choice"],
    ["kubectl knfleet diff -A -o json", "field by field, for scripts"],
    ["kubectl knfleet diff -A --bundle fleet.tgz", "as it was when gather --diff wrote the bundle"],
  ],
  options: renderingFlags,
  document: "DiffList",
  tool: selectionArguments,
  run: async (fleet, options) => (await import("./diff-report.ts")).diffReport(fleet, options),
});
