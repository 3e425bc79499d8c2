import { failOnFlag, filenameFlag, noLiveFlag, toggle, worded } from "../../main/command-flags.ts";
import { command, installationNames, namesText } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";

/** `status`: every installation, as the hub and its cluster see it. */
export const status = command({
  name: "status",
  args: installationNames,
  summary: "Show every installation: the hub's view and the spoke's",
  text: `One row for each Knative installation, worst first. HUB is what the conditions on the hub say, LIVE is what the target\ncluster says, reached through its ClusterProfile as the controller reaches it.\nOne installation named as TYPE/NAME comes with its conditions, Deployments, anchor and Warning events.\n-o wide adds REPLICA, the pod of the controller that serves the cluster; <none> when no replica does, and WORKLOADS, how\nmany of the objects by which teams use the installation are ready.\nAn installation or rollout that goes on within its deadline is in progress: no error, and code 0 without --strict.\nWhere there are fleet sets, a row for each follows: its version, phase and stage, and how many of its clusters are done and failed.\n${namesText}`,
  exits: {
    1: "something is not healthy, an unread spoke included, or no controller works for it (--fail-on moves the limit, --strict counts warnings and what is in progress, too); or what was named does not exist",
  },
  examples: [
    ["kubectl knfleet status -A", "the whole fleet"],
    ["kubectl knfleet status --set kss/prod -n platform", "the installations of one fleet set"],
    ["kubectl knfleet status -A --failed --cluster 'eu-*'", "what is wrong on some clusters"],
    ["kubectl knfleet status -A -w", "and what changes from now on"],
    ["kubectl knfleet status ks/knative-serving ke/knative-eventing", "two installations"],
    ["kubectl knfleet status -A -l env=prod -o wide", "with server, provider, replica and message"],
    ["kubectl knfleet status -A -o json", "for scripts; see docs/cli/output.md for the fields"],
    ["kubectl knfleet status -A -o html > fleet.html", "one page for a browser"],
    ["kubectl knfleet status -A --since 2h", "what changed in the last two hours"],
    ["kubectl knfleet status -A --since yesterday.tgz", "what is other than in a bundle of gather"],
    ["kubectl knfleet status -A --bundle fleet.tgz", "as it was when gather wrote the bundle"],
  ],
  options: {
    live: noLiveFlag(),
    failOn: failOnFlag(),
    strict: toggle("--strict", "code 1 for warnings and for what is in progress, too"),
    filename: filenameFlag(),
    set: worded(
      "--set <set>",
      "installations that this fleet set has made: kss/NAME, kes/NAME or NAME",
    ),
    watch: toggle("-w, --watch", "go on and print rows that change; --timeout ends it"),
    since: worded(
      "--since <when>",
      "only what changed: 2h, 3d, a time, or a bundle to compare with",
    ),
  },
  document: "FleetStatus",
  formats: ["html"],
  tool: selectionArguments,
  run: async (fleet, options) => (await import("./status-report.ts")).statusReport(fleet, options),
});
