import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { filenameOption } from "../../selection/filename-option.ts";

/** `logs` on the command line. */
export function logsEntry(): CommandEntry {
  return {
    name: "logs",
    args: "[TYPE[/NAME] | NAME...]",
    summary: "Show what controllers and Deployments log about installations",
    text: "Lines of the controller on the hub, knfleet's or the upstream operator's, that are about the selected installations and no others, and of all containers of their\nDeployments on the clusters, on one time line with cluster, pod and container in front. A cluster or container that cannot be read is named below. Control characters\nare taken out, and what looks like a secret.",
    examples: [
      ["kubectl knfleet logs ks/knative-serving -n team-a", "the last lines of everything"],
      ["kubectl knfleet logs ks/knative-serving -f", "and what comes"],
      ["kubectl knfleet logs -A --no-live --since 1h", "what the controller did"],
      ["kubectl knfleet logs ke -A --container eventing-controller --tail 100", "one container"],
      ["kubectl knfleet logs ks -A -f -o json", "one object a line, for scripts"],
      [
        "kubectl knfleet logs ks/knative-serving --bundle fleet.tgz",
        "those that gather took along",
      ],
    ],
    options: [
      filenameOption("--filename <file>"),
      new Option("-f, --follow", "go on with what comes; --timeout ends it"),
      new Option("--since <duration>", "not older than this"),
      new Option(
        "--tail <lines>",
        "the last lines of each container, -1 for all (default 20, with --since all)",
      ),
      new Option("--container <name>", "only containers of this name"),
      new Option("--timestamps", "with the time in front of each line"),
      new Option("--max-streams <number>", "containers that are read (default 50)"),
      new Option("--no-live", "only the controller's: no spoke is reached"),
    ],
    kind: "LogList",
    readsBundles: true,
    completes: "installations",
    load: async () => (await import("./logs-action.ts")).runLogs,
  };
}
