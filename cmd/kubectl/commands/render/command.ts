import { renderingFlags, spokeNamespaceFlag } from "../../compare/rendering-options.ts";
import { UsageError } from "../../errors.ts";
import { componentFilesFlag, parsed, repeated, worded } from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";

/** `render`: what the controller would apply for the components of files. */
export const render = command({
  name: "render",
  args: { usage: "-f FILE" },
  summary: "Print what a component installs, without any cluster",
  text: `Prints the objects that the controller would apply for the components of a file, in the order in which it applies them. No cluster is
asked. Wrong input has a line for each problem.`,
  exits: {
    1: "a version or an option is refused, no object has the name of --only, or --diff-with found a difference",
  },
  examples: [
    ["kubectl knfleet render -f serving.yaml", "as YAML documents"],
    ["kubectl knfleet render -f serving.yaml --only Deployment/activator", "one object"],
    ["kubectl knfleet render -f serving.yaml --diff-with 1.22", "what an upgrade from 1.22 alters"],
    [
      "kubectl knfleet render -f - --diff-with old.yaml -o json",
      "what a change of the file alters",
    ],
  ],
  options: {
    filename: componentFilesFlag(),
    only: repeated("--only <kind/name>", "only this object; can be repeated"),
    diffWith: worded(
      "--diff-with <file|version>",
      "print how it differs from another file or version, as a unified diff; code 1 when it does",
    ),
    spokeNamespace: spokeNamespaceFlag("default Canonical"),
    anchorUid: parsed(
      "--anchor-uid <uid>",
      "uid of the anchor, which owns what is on a spoke",
      (uid, flag) => {
        if (uid === "") throw new UsageError(`${flag} is empty`);
        return uid;
      },
    ),
    kubernetesVersion: parsed(
      "--kubernetes-version <version>",
      "version of the cluster, to check the minimum",
      (version, flag) => {
        if (/^v?\d+\.\d+/.test(version)) return version;
        throw new UsageError(
          `Invalid value "${version}" for ${flag}: want a version such as v1.34.1`,
        );
      },
    ),
    live: worded("--live <file>", "objects that the cluster has already"),
    envFile: worded("--env-file <file>", "environment of the controller, a JSON object"),
    manifestsFrom: renderingFlags.manifestsFrom,
  },
  asksNobody: true,
  run: async (fleet, options, talk) => (await import("./render.ts")).render(fleet, options, talk),
});
