import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { renderingOptions } from "../../compare/rendering-options.ts";
import { several } from "../../output/several.ts";

/** `plan` on the command line. */
export function planEntry(): CommandEntry {
  return {
    name: "plan",
    args: "-f FILE",
    summary: "Show what applying a file would change, on the hub and on the clusters",
    text: "What would happen if the components of a file were applied: first on the hub, whose webhooks are asked by a dry run, then on the cluster of each\ncomponent: objects that would be made, changed, pruned or made anew, pods that would be started anew, and versions that may not follow\neach other. Nothing is changed. The exit code is 0 for no change, 1 for changes, 2 when something would be refused, 3 when a cluster\ncould not be read.",
    examples: [
      ["kubectl knfleet plan -f serving.yaml", "before kubectl apply"],
      ["helm template fleet ./my-chart | kubectl knfleet plan -f -", "from standard input"],
      ["kubectl knfleet plan -f serving.yaml -o json", "field by field, for scripts"],
    ],
    options: [
      new Option("-f, --filename <file>", "file with components, - for standard input").argParser(
        several,
      ),
      ...renderingOptions(),
    ],
    kind: "Plan",
    needsFleet: "API servers tell by dry runs what would change",
    load: async () => (await import("./plan-action.ts")).runPlan,
  };
}
