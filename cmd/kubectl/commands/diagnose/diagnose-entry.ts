import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { filenameOption } from "../../selection/filename-option.ts";

/** `diagnose` in the table of commands. */
export function diagnoseEntry(): CommandEntry {
  return {
    name: "diagnose",
    args: "[TYPE/NAME | CLUSTERPROFILE | NAME...]",
    summary: "Walk the whole path to a spoke and find the root cause",
    text: "Walks from the hub to the spoke's pods, step by step: controller, ClusterProfile, provider file, plugin, credential, DNS, TCP, TLS,\nidentity, rights, anchor, guard, objects, Deployments. Each step is OK, WARN, FAIL or SKIPPED; then follow the root cause and what to do.\nA target is ks/NAME, ke/NAME, cp/NAME, NAMESPACE/CLUSTERPROFILE or NAME; without any, all installations of the namespace.",
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
      new Option("--exec-timeout <duration>", "time for the exec plugin (default 10s)"),
      new Option(
        "--release-dir <folder>",
        "release files, to ask why the spoke refuses an object (default: those of the cache)",
      ),
      new Option("--fail-on <severity>", "error|warning|never: what makes the exit code 1"),
      filenameOption(),
      new Option("--yes", "make the Job of --from controller without asking"),
      new Option("--report-file <file>", "write a short report there, too").hideHelp(),
    ],
    kind: "Diagnosis",
    pages: "one",
    readsBundles: true,
    completes: "installations",
    load: async () => (await import("./diagnose-action.ts")).runDiagnose,
  };
}
