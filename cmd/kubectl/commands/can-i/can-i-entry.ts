import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { spokeNamespaceFlag } from "../../spokes/spoke-namespace.ts";

/** `can-i` on the command line. */
export function canIEntry(): CommandEntry {
  return {
    name: "can-i",
    args: "[TYPE[/NAME] | CLUSTERPROFILE...]",
    summary: "Show what the identities on the spokes may do, and what they lack",
    text: "Derives from the release files what the controller has to be allowed on a spoke to install, follow, repair and remove Knative, asks the\nspokes for each right with the credential that the controller uses, and shows what is missing. Code 1 when something is, 3 when a spoke could\nnot be asked. With --role it prints the whole ClusterRole and asks nobody.\nClusterProfiles are cp/NAME, NAMESPACE/CLUSTERPROFILE or NAME; one without installations stands for Serving and Eventing.",
    examples: [
      ["kubectl knfleet can-i -A", "on the clusters of all installations"],
      ["kubectl knfleet can-i -A --version 1.23", "before an upgrade: what that version needs"],
      ["kubectl knfleet can-i fleet/spoke-1", "on one cluster, before anything is installed there"],
      [
        "kubectl knfleet can-i fleet/spoke-1 -o clusterrole | kubectl --context SPOKE apply -f -",
        "grant what is missing",
      ],
      [
        "kubectl knfleet can-i --role | kubectl --context SPOKE apply -f -",
        "grant everything, before there is a ClusterProfile",
      ],
    ],
    options: [
      new Option(
        "--version <version>",
        "version to be installed, such as 1.23 (default: that of the installation, or the newest)",
      ),
      new Option("--role", "print the complete ClusterRole; no cluster is asked"),
      new Option("--release-dir <folder>", "release files (default: those of the cache)"),
      spokeNamespaceFlag(),
    ],
    kind: "Permissions",
    formats: ["clusterrole"],
    completes: "installations",
    needsFleet: "it asks API servers what they allow",
    load: async () => (await import("./can-i-action.ts")).runCanI,
  };
}
