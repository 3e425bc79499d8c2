import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { filenameOption } from "../../selection/filename-option.ts";
import { spokeNamespaceFlag } from "../../spokes/spoke-namespace.ts";

/** `tree` on the command line. */
export function treeEntry(): CommandEntry {
  return {
    name: "tree",
    args: "[TYPE[/NAME] | NAME...]",
    summary: "Show the way from an installation on the hub to its pods",
    text: "For each selected installation: the component, its ClusterProfile, the access provider, the Secret of the credential (its name only), the\ncluster, the namespace, the anchor, the Deployments and their pods, each with its state. Healthy Deployments and pods side by side are one line.\nWhat is broken is shown and changes no exit code; a cluster that cannot be read ends with 3.\n-o dot and -o mermaid print one graph of all of it.",
    examples: [
      ["kubectl knfleet tree ks/knative-serving -n team-a", "one installation"],
      ["kubectl knfleet tree -A --failed --all", "those that are not ready, with every pod"],
      ["kubectl knfleet tree -A -o dot | dot -Tsvg > fleet.svg", "a picture of the fleet"],
      ["kubectl knfleet tree -A -o json", "for scripts; everything, as with --all"],
    ],
    options: [
      new Option("--all", "healthy Deployments and pods one by one, too"),
      filenameOption(),
      spokeNamespaceFlag(),
    ],
    kind: "Tree",
    readsBundles: true,
    formats: ["dot", "mermaid"],
    completes: "installations",
    load: async () => (await import("./tree-action.ts")).runTree,
  };
}
