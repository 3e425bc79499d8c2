import { Option } from "commander";

import type { CommandEntry } from "./command-entry.ts";
import { canIEntry } from "./commands/can-i/can-i-entry.ts";
import { checkEntry } from "./commands/check/check-entry.ts";
import { completionEntry } from "./commands/completion/completion-entry.ts";
import { connectEntry } from "./commands/connect/connect-entry.ts";
import { credentialEntry } from "./commands/credential/credential-entry.ts";
import { diagnoseEntry } from "./commands/diagnose/diagnose-entry.ts";
import { diffEntry } from "./commands/diff/diff-entry.ts";
import { eventsEntry } from "./commands/events/events-entry.ts";
import { explainEntry } from "./commands/explain/explain-entry.ts";
import { gatherEntry } from "./commands/gather/gather-entry.ts";
import { getEntry } from "./commands/get/get-entry.ts";
import { kubeconfigEntry } from "./commands/kubeconfig/kubeconfig-entry.ts";
import { logsEntry } from "./commands/logs/logs-entry.ts";
import { orphansEntry } from "./commands/orphans/orphans-entry.ts";
import { planEntry } from "./commands/plan/plan-entry.ts";
import { renderEntry } from "./commands/render/render-entry.ts";
import { topEntry } from "./commands/top/top-entry.ts";
import { treeEntry } from "./commands/tree/tree-entry.ts";
import { versionEntry } from "./commands/version/version-entry.ts";
import { waitEntry } from "./commands/wait/wait-entry.ts";
import { filenameOption } from "./selection/filename-option.ts";

const selectionText =
  "Names are ks/NAME, ke/NAME, KnativeServing/NAME or NAME; a type alone selects all of that type.";

const installationArgs = "[TYPE[/NAME] | NAME...]";

/** Every command: help, docs/cli.md and completion are made of this table. Actions are loaded only when chosen. */
export const commandTable = (): readonly CommandEntry[] => [
  statusEntry(),
  topEntry(),
  deploymentsEntry(),
  getEntry(),
  diagnoseEntry(),
  diffEntry(),
  planEntry(),
  orphansEntry(),
  checkEntry(),
  waitEntry(),
  eventsEntry(),
  logsEntry(),
  treeEntry(),
  gatherEntry(),
  explainEntry(),
  canIEntry(),
  connectEntry(),
  kubeconfigEntry(),
  credentialEntry(),
  renderEntry(),
  completionEntry(),
  versionEntry(),
];

const statusEntry = (): CommandEntry => ({
  name: "status",
  args: installationArgs,
  summary: "Show every installation: the hub's view and the spoke's",
  text: `One row for each Knative installation, worst first. HUB is what the conditions on the hub say, LIVE is what the target\ncluster says, reached through its ClusterProfile as the controller reaches it.\nOne installation named as TYPE/NAME comes with its conditions, Deployments, anchor and Warning events.\n${selectionText}`,
  examples: [
    ["kubectl knfleet status -A", "the whole fleet"],
    ["kubectl knfleet status -A --failed --cluster 'eu-*'", "what is wrong on some clusters"],
    ["kubectl knfleet status -A -w", "and what changes from now on"],
    ["kubectl knfleet status ks/knative-serving ke/knative-eventing", "two installations"],
    ["kubectl knfleet status -A -l env=prod -o wide", "with server, provider and message"],
    ["kubectl knfleet status -A -o json", "for scripts; see docs/cli.md for the fields"],
    ["kubectl knfleet status -A -o html > fleet.html", "one page for a browser"],
    ["kubectl knfleet status -A --since 2h", "what changed in the last two hours"],
    ["kubectl knfleet status -A --since yesterday.tgz", "what is other than in a bundle of gather"],
    ["kubectl knfleet status -A --bundle fleet.tgz", "as it was when gather wrote the bundle"],
  ],
  options: [
    new Option("--no-live", "only the hub's view: no spoke is reached"),
    new Option("--fail-on <severity>", "error|warning|never: what makes the exit code 1"),
    filenameOption(),
    new Option("-w, --watch", "go on and print rows that change; --timeout ends it"),
    new Option("--since <when>", "only what changed: 2h, 3d, a time, or a bundle to compare with"),
  ],
  kind: "FleetStatus",
  formats: ["html"],
  readsBundles: true,
  completes: "installations",
  load: async () => (await import("./commands/status/status-action.ts")).runStatus,
});

const deploymentsEntry = (): CommandEntry => ({
  name: "deployments",
  args: installationArgs,
  summary: "List the Knative deployments of the spokes",
  text: `The Deployments of the selected installations, read from their clusters. A cluster that cannot be read is named below\nthe table and delays no other.\n${selectionText}`,
  examples: [
    ["kubectl knfleet deployments -A", "of the whole fleet"],
    ["kubectl knfleet deployments ks -A -o wide", "of all KnativeServing, with images"],
  ],
  options: [filenameOption()],
  kind: "DeploymentList",
  readsBundles: true,
  completes: "installations",
  load: async () => (await import("./commands/deployments/deployments-action.ts")).runDeployments,
});
