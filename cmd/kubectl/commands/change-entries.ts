import { Option } from "commander";

import type { CommandEntry } from "../action.ts";
import { several } from "../common-options.ts";
import { renderingOptions } from "../compare/rendering-options.ts";
import { componentFilesFlag, optionOf } from "../main/command-flags.ts";
import { installationNames } from "../main/command.ts";

/** `plan` on the command line. */
export function planEntry(): CommandEntry {
  return {
    name: "plan",
    args: `-f FILE | --version VERSION ${installationNames.usage}`,
    summary: "Show what applying a file, or an upgrade of the fleet, would change",
    text: "With -f, what would happen if the components of a file were applied: first on the hub, whose webhooks are asked by a dry run, then on the cluster of\neach component: objects that would be made, changed, pruned or made anew, pods that would be started anew, and versions that may not follow\neach other. With --version, what would happen if the selected installations, or the sets that have stamped them, named that version: one row for each,\nwith the versions on the way, Kubernetes, missing rights, stored versions of CRDs, restarts, and the stage of its set. Nothing is changed.\nThe exit code is 0 for no change, 1 for changes, 2 when something would be refused, 3 when a cluster could not be read.",
    examples: [
      ["kubectl knfleet plan -f serving.yaml", "before kubectl apply"],
      ["helm template fleet ./my-chart | kubectl knfleet plan -f -", "from standard input"],
      ["kubectl knfleet plan -f serving.yaml -o json", "field by field, for scripts"],
      ["kubectl knfleet plan --version 1.23 -A", "the upgrade of the whole fleet"],
      ["kubectl knfleet plan ks --version 1.23 -A --on region=eu", "of a part of it"],
    ],
    options: [
      optionOf(componentFilesFlag()),
      new Option(
        "--version <version>",
        "version to which the selected installations would be upgraded, such as 1.23",
      ),
      ...renderingOptions(),
    ],
    kind: "Plan",
    completes: "installations",
    needsFleet: "API servers tell by dry runs what would change",
    load: async () => (await import("./plan/plan-action.ts")).runPlan,
  };
}

/** `render` on the command line. */
export const renderEntry = (): CommandEntry => ({
  name: "render",
  args: "-f FILE",
  summary: "Print what a component installs, without any cluster",
  text: `Prints the objects that the controller would apply for the components of a file, in the order in which it applies them. No cluster is
asked. Wrong input ends with code 2 and a line for each problem, a version or an option that is refused with code 1.`,
  examples: [
    ["kubectl knfleet render -f serving.yaml", "as YAML documents"],
    ["kubectl knfleet render -f serving.yaml --only Deployment/activator", "one object"],
    ["kubectl knfleet render -f serving.yaml --diff-with 1.22", "what an upgrade from 1.22 alters"],
    [
      "kubectl knfleet render -f - --diff-with old.yaml -o json",
      "what a change of the file alters",
    ],
  ],
  options: options(),
  load: async () => (await import("./render/render-action.ts")).runRender,
});

function options(): readonly Option[] {
  return [
    optionOf(componentFilesFlag()),
    new Option("--only <kind/name>", "only this object; can be repeated").argParser(several),
    new Option(
      "--diff-with <file|version>",
      "print how it differs from another file or version, as a unified diff; code 1 when it does",
    ),
    new Option(
      "--spoke-namespace <mode>",
      "namespace of new installations on spokes: Component|Canonical (default Canonical)",
    ),
    new Option("--anchor-uid <uid>", "uid of the anchor, which owns what is on a spoke"),
    new Option("--kubernetes-version <version>", "version of the cluster, to check the minimum"),
    new Option("--live <file>", "objects that the cluster has already"),
    new Option("--env-file <file>", "environment of the controller, a JSON object"),
    new Option(
      "--manifests-from <folder>",
      "folder for manifests whose URL is file:NAME in the spec",
    ),
  ];
}
