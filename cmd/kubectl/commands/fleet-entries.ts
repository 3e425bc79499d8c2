import { Option } from "commander";

import type { CommandEntry } from "../action.ts";
import { failOnFlag, filenameFlag, noLiveFlag, optionOf } from "../main/command-flags.ts";
import { installationNames, namesText } from "../main/command.ts";

/** `status` on the command line. */
export const statusEntry = (): CommandEntry => ({
  name: "status",
  args: installationNames.usage,
  summary: "Show every installation: the hub's view and the spoke's",
  text: `One row for each Knative installation, worst first. HUB is what the conditions on the hub say, LIVE is what the target\ncluster says, reached through its ClusterProfile as the controller reaches it.\nOne installation named as TYPE/NAME comes with its conditions, Deployments, anchor and Warning events.\n-o wide adds REPLICA, the pod of the controller that serves the cluster; <none> when no replica does, and WORKLOADS, how\nmany of the objects by which teams use the installation are ready.\nAn installation or rollout that goes on within its deadline is in progress: no error, and code 0 without --strict.\nWhere there are fleet sets, a row for each follows: its version, phase and stage, and how many of its clusters are done and failed.\n${namesText}`,
  examples: [
    ["kubectl knfleet status -A", "the whole fleet"],
    ["kubectl knfleet status --set kss/prod -n platform", "the installations of one fleet set"],
    ["kubectl knfleet status -A --failed --cluster 'eu-*'", "what is wrong on some clusters"],
    ["kubectl knfleet status -A -w", "and what changes from now on"],
    ["kubectl knfleet status ks/knative-serving ke/knative-eventing", "two installations"],
    ["kubectl knfleet status -A -l env=prod -o wide", "with server, provider, replica and message"],
    ["kubectl knfleet status -A -o json", "for scripts; see docs/cli.md for the fields"],
    ["kubectl knfleet status -A -o html > fleet.html", "one page for a browser"],
    ["kubectl knfleet status -A --since 2h", "what changed in the last two hours"],
    ["kubectl knfleet status -A --since yesterday.tgz", "what is other than in a bundle of gather"],
    ["kubectl knfleet status -A --bundle fleet.tgz", "as it was when gather wrote the bundle"],
  ],
  options: [
    optionOf(noLiveFlag()),
    optionOf(failOnFlag()),
    new Option("--strict", "code 1 for warnings and for what is in progress, too"),
    optionOf(filenameFlag()),
    new Option(
      "--set <set>",
      "installations that this fleet set has made: kss/NAME, kes/NAME or NAME",
    ),
    new Option("-w, --watch", "go on and print rows that change; --timeout ends it"),
    new Option("--since <when>", "only what changed: 2h, 3d, a time, or a bundle to compare with"),
  ],
  kind: "FleetStatus",
  formats: ["html"],
  readsBundles: true,
  completes: "installations",
  load: async () => (await import("./status/status-action.ts")).runStatus,
});

/** `top` on the command line. */
export function topEntry(): CommandEntry {
  return {
    name: "top",
    args: installationNames.usage,
    summary: "Watch the fleet on the whole screen of a terminal",
    text: "The table of status, kept up to date: the hub is watched, and the spokes are read anew ten seconds after the last round, one of them sooner\nwhen its component changes on the hub. Where there are fleet sets, a line for each stands above the table. Keys: arrows or j and k move, Enter opens one installation, d diagnoses it, e and l show its Events\nand logs, / filters, s sorts, r reads everything anew, ? lists all keys, q ends it. It only reads. It needs a terminal; everywhere else there\nis status -w. top is for the keyboard and for SSH;\nui shows the same fleet in a browser, with causes, versions, a graph and a time line, also for a wall, a phone or a mail (ui --once FILE).",
    examples: [
      ["kubectl knfleet top -A", "the whole fleet"],
      ["kubectl knfleet top ks -A --cluster 'eu-*'", "Serving on some clusters"],
      ["kubectl knfleet top -A --failed", "only what is not healthy"],
      ["kubectl knfleet top -A --bundle fleet.tgz", "as it was when gather wrote the bundle"],
      ["kubectl knfleet top -A --once", "the first screen as text, without a terminal"],
    ],
    options: [
      optionOf(noLiveFlag()),
      new Option("--once", "print one screen when everything is read, and end"),
    ],
    readsBundles: true,
    ownTimeout: true,
    completes: "installations",
    load: async () => (await import("./top/top-action.ts")).runTop,
  };
}
