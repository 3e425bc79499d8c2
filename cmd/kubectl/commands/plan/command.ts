import { renderingFlags } from "../../compare/rendering-options.ts";
import { versionFlag } from "../../compare/version-flag.ts";
import { componentFilesFlag } from "../../main/command-flags.ts";
import { command, installationNames } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";

/** `plan`: what applying a file, or an upgrade of the fleet, would change. */
export const plan = command({
  name: "plan",
  args: { ...installationNames, usage: `-f FILE | --version VERSION ${installationNames.usage}` },
  summary: "Show what applying a file, or an upgrade of the fleet, would change",
  text: "With -f, what would happen if the components of a file were applied: first on the hub, whose webhooks are asked by a dry run, then on the cluster of\neach component: objects that would be made, changed, pruned or made anew, pods that would be started anew, and versions that may not follow\neach other. With --version, what would happen if the selected installations, or the sets that have stamped them, named that version: one row for each,\nwith the versions on the way, Kubernetes, missing rights, stored versions of CRDs, restarts, and the stage of its set. Nothing is changed.",
  exits: {
    0: "nothing would change",
    1: "something would change, or what was named does not exist",
    2: "something would be refused, or the command could not do its work",
    3: "a cluster, or a manifest that the component brings by URL, could not be read",
  },
  examples: [
    ["kubectl knfleet plan -f serving.yaml", "before kubectl apply"],
    ["helm template fleet ./my-chart | kubectl knfleet plan -f -", "from standard input"],
    ["kubectl knfleet plan -f serving.yaml -o json", "field by field, for scripts"],
    ["kubectl knfleet plan --version 1.23 -A", "the upgrade of the whole fleet"],
    ["kubectl knfleet plan ks --version 1.23 -A --on region=eu", "of a part of it"],
  ],
  options: {
    filename: componentFilesFlag(),
    version: versionFlag(
      "version to which the selected installations would be upgraded, such as 1.23",
      {
        isRequired: true,
      },
    ),
    ...renderingFlags,
  },
  document: "Plan",
  tool: selectionArguments,
  needsFleet: "API servers tell by dry runs what would change",
  run: async (fleet, options) => (await import("./plan-report.ts")).planReport(fleet, options),
});
