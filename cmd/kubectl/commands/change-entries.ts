import { Option } from "commander";

import type { CommandEntry } from "../action.ts";
import { several } from "../common-options.ts";
import { componentFilesFlag, optionOf } from "../main/command-flags.ts";

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
