import { Option } from "commander";

import type { CommandEntry } from "../action.ts";
import { renderingOptions } from "../compare/rendering-options.ts";
import {
  execTimeoutFlag,
  failOnFlag,
  filenameFlag,
  noLiveFlag,
  optionOf,
} from "../main/command-flags.ts";
import { installationNames } from "../main/command.ts";
import { selectionArguments, toolSchema } from "../main/tool-arguments.ts";

/** `diagnose` in the table of commands. */
export function diagnoseEntry(): CommandEntry {
  return {
    name: "diagnose",
    args: "[TYPE/NAME | CLUSTERPROFILE | NAME...]",
    summary: "Walk the whole path to a spoke and find the root cause",
    text: "Walks from the hub to the spoke's pods, step by step: controller, replica, ClusterProfile, provider file, plugin, credential, DNS,\nTCP, TLS, identity, rights, anchor, guard, objects, Deployments. Each step is OK, WARN, FAIL or SKIPPED; then follow the root cause and\nwhat to do.\nOn a terminal the root cause comes first, and steps that passed share a line.\nA target is ks/NAME, ke/NAME, cp/NAME, NAMESPACE/CLUSTERPROFILE or NAME; without any, all installations of the namespace. kss/NAME and\nkes/NAME are fleet sets: why the rollout waits or halted, and the walk to each cluster that is not well.",
    examples: [
      ["kubectl knfleet diagnose ks/knative-serving -n team-a", "one installation"],
      ["kubectl knfleet diagnose fleet/spoke-1", "the way to one cluster"],
      ["kubectl knfleet diagnose -A", "the whole fleet, a line each"],
      [
        "kubectl knfleet diagnose ks/a --from controller-identity",
        "as the controller's ServiceAccount",
      ],
      [
        "kubectl knfleet diagnose ks/a --from controller --yes",
        "by a Job where the controller runs",
      ],
    ],
    options: [
      new Option(
        "--from <vantage>",
        "local|controller-identity|controller: from where the way is walked",
      ),
      new Option(
        "--exec",
        "run exec plugins also when the provider file came from the cluster; needs --plugin-root",
      ),
      optionOf(execTimeoutFlag()),
      optionOf(failOnFlag()),
      optionOf(filenameFlag()),
      new Option("--yes", "make the Job of --from controller without asking"),
      new Option("--report-file <file>", "write a short report there, too").hideHelp(),
    ],
    kind: "Diagnosis",
    tool: toolSchema(["targets", ...selectionArguments]),
    pages: "one",
    readsBundles: true,
    completes: "installations",
    load: async () => (await import("./diagnose/diagnose-action.ts")).runDiagnose,
  };
}

/** `gather` on the command line. */
export function gatherEntry(): CommandEntry {
  return {
    name: "gather",
    args: installationNames.usage,
    summary: "Write a bundle for support: hub and spokes, without secrets",
    text: "Reads the selected installations, their ClusterProfiles and fleet sets, the namespaces that they are in on hub and spokes, the logs of controllers and Knative's own Deployments,\nand walks to every one as diagnose does; and writes all of it into one tar.gz that only you may read. Of Secrets there are only the names of keys, sizes, and hashes\nby which equal values of one bundle are seen; tokens, keys, certificates and logins in URLs are taken out everywhere. Before it is\nwritten, the bundle is searched for every credential that the run has met. Other commands read it with --bundle. A spoke has a minute,\nthe whole command ten, unless --spoke-timeout and --timeout say otherwise.",
    examples: [
      [
        "kubectl knfleet gather -A",
        "of the whole fleet, into a file of the folder for temporary files, which it names",
      ],
      ["kubectl knfleet gather ks/knative-serving -n team-a -o case-17.tgz", "of one installation"],
      ["kubectl knfleet gather -A --diff", "with how clusters differ from what would be installed"],
      ["kubectl knfleet gather -A --dry-run", "only list the files that would be in it"],
      [
        "kubectl knfleet gather -A -o json",
        "for scripts: what was written, and what could not be read",
      ],
    ],
    options: [
      new Option("--dry-run", "read everything and list the files, but write nothing"),
      new Option(
        "--tail <lines>",
        "of each container the last so many log lines (default 500); 0: no logs",
      ),
      new Option(
        "--diff",
        "also compare clusters with what would be installed, for diff --bundle; API servers are asked by dry runs",
      ),
      ...renderingOptions(),
      optionOf(noLiveFlag("the hub's")),
    ],
    kind: "Bundle",
    readsBundles: true,
    completes: "installations",
    ownTimeout: true,
    writesFile: true,
    load: async () => (await import("./gather/gather-action.ts")).runGather,
  };
}
