import { vantages } from "../../findings/vantages.ts";
import {
  agreementFlag,
  chosen,
  execTimeoutFlag,
  failOnFlag,
  filenameFlag,
  hidden,
  toggle,
  worded,
} from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";

/** `diagnose`: walks the whole path to a spoke and finds the root cause. */
export const diagnose = command({
  name: "diagnose",
  args: {
    usage: "[TYPE/NAME | CLUSTERPROFILE | NAME...]",
    completes: "installations",
    tool: { name: "targets", text: "ks/NAME, ke/NAME, cp/NAME or NAMESPACE/CLUSTERPROFILE" },
  },
  summary: "Walk the whole path to a spoke and find the root cause",
  text: "Walks from the hub to the spoke's pods, step by step: controller, replica, ClusterProfile, provider file, plugin, credential, DNS,\nTCP, TLS, identity, rights, anchor, guard, objects, Deployments. Each step is OK, WARN, FAIL or SKIPPED; then follow the root cause and\nwhat to do.\nOn a terminal the root cause comes first, and steps that passed share a line.\nA target is ks/NAME, ke/NAME, cp/NAME, NAMESPACE/CLUSTERPROFILE or NAME; without any, all installations of the namespace. kss/NAME and\nkes/NAME are fleet sets: why the rollout waits or halted, and the walk to each cluster that is not well.",
  exits: {
    1: "something was found, or what was named does not exist",
    3: "steps were left out because there is no provider file, and nothing was found",
  },
  examples: [
    ["kubectl knfleet diagnose ks/knative-serving -n team-a", "one installation"],
    ["kubectl knfleet diagnose fleet/spoke-1", "the way to one cluster"],
    ["kubectl knfleet diagnose -A", "the whole fleet, a line each"],
    [
      "kubectl knfleet diagnose ks/a --from controller-identity",
      "as the controller's ServiceAccount",
    ],
    ["kubectl knfleet diagnose ks/a --from controller --yes", "by a Job where the controller runs"],
  ],
  options: {
    from: chosen(
      "--from <vantage>",
      "local|controller-identity|controller: from where the way is walked",
      vantages,
    ),
    exec: toggle(
      "--exec",
      "run exec plugins also when the provider file came from the cluster; needs --plugin-root",
    ),
    execTimeout: execTimeoutFlag(),
    failOn: failOnFlag(),
    filename: filenameFlag(),
    yes: agreementFlag("make the Job of --from controller without asking"),
    reportFile: hidden(worded("--report-file <file>", "write a short report there, too")),
  },
  document: "Diagnosis",
  tool: selectionArguments,
  // A walk reaches spokes step by step, by itself.
  reachesSpokes: false,
  pages: "one",
  run: async (fleet, options) =>
    (await import("./diagnose-report.ts")).diagnoseTargets(fleet, options),
});
