import { spokeNamespace } from "../../compare/rendering-options.ts";
import { filenameFlag, forTools, toggle } from "../../main/command-flags.ts";
import { command, installationNames } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";

/** `tree`: the way from an installation on the hub to its pods. */
export const tree = command({
  name: "tree",
  args: installationNames,
  summary: "Show the way from an installation on the hub to its pods",
  text: "For each selected installation: the component, its ClusterProfile, the access provider, the Secret of the credential (its name only), the\ncluster, the namespace, the anchor, the Deployments and their pods, each with its state. Installations of a fleet set are below the set. Healthy Deployments and pods side by side are one line.\nWhat is broken is shown and changes no exit code; a cluster that cannot be read ends with 3.\n-o dot and -o mermaid print one graph of all of it.",
  examples: [
    ["kubectl knfleet tree ks/knative-serving -n team-a", "one installation"],
    ["kubectl knfleet tree -A --failed --all", "those that are not ready, with every pod"],
    ["kubectl knfleet tree -A -o dot | dot -Tsvg > fleet.svg", "a picture of the fleet"],
    ["kubectl knfleet tree -A -o json", "for scripts; everything, as with --all"],
  ],
  options: {
    all: forTools(toggle("--all", "healthy Deployments and pods one by one, too")),
    filename: filenameFlag(),
    spokeNamespace,
  },
  document: "Tree",
  formats: ["dot", "mermaid"],
  tool: selectionArguments,
  run: async (fleet, options) =>
    (await import("../../fleet/tree/tree.ts")).readTrees(fleet, options),
});
