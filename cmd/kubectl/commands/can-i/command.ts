import { spokeNamespace } from "../../compare/rendering-options.ts";
import { versionFlag } from "../../compare/version-flag.ts";
import { toggle } from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";

/** `can-i`: the rights that identities have on the spokes, and those that they lack. */
export const canI = command({
  name: "can-i",
  args: {
    usage: "[TYPE[/NAME] | CLUSTERPROFILE...]",
    completes: "installations",
    tool: { name: "targets", text: "ks/NAME, ke/NAME, cp/NAME or NAMESPACE/CLUSTERPROFILE" },
  },
  summary: "Show what the identities on the spokes may do, and what they lack",
  text: "Derives from the release files what the controller has to be allowed on a spoke to install, follow, repair and remove Knative, asks the\nspokes for each right with the credential that the controller uses, and shows what is missing. Code 1 when something is, 3 when a spoke could\nnot be asked. With --role it prints the whole ClusterRole and asks nobody.\nClusterProfiles are cp/NAME, NAMESPACE/CLUSTERPROFILE or NAME; one without installations stands for Serving and Eventing.",
  exits: {
    1: "a right is missing, or what was named does not exist",
    3: "a spoke could not be asked",
  },
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
  options: {
    version: versionFlag(
      "version to be installed, such as 1.23 (default: that of the installation, or the newest)",
    ),
    role: toggle("--role", "print the complete ClusterRole; no cluster is asked"),
    spokeNamespace,
  },
  document: "Permissions",
  formats: ["clusterrole"],
  tool: selectionArguments,
  needsFleet: "it asks API servers what they allow",
  async run(fleet, options) {
    // Parsing versions takes a package, which no other command has to load.
    (await import("../../compare/check-version.ts")).checkVersion(options.version);
    if (options.role)
      return await (await import("./whole-role.ts")).wholeRole(fleet, options.version);
    return await (await import("./can-i.ts")).readPermissions(fleet, options);
  },
});
