import { filenameFlag } from "../../main/command-flags.ts";
import { command, installationNames, namesText } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";

/** `deployments`: the Knative Deployments of the selected installations, read from their clusters. */
export const deployments = command({
  name: "deployments",
  args: installationNames,
  summary: "List the Knative deployments of the spokes",
  text: `The Deployments of the selected installations, read from their clusters, and their StatefulSets and DaemonSets, as\nstatefulset/NAME. A cluster that cannot be read is named below the table and delays no other.\n${namesText}`,
  examples: [
    ["kubectl knfleet deployments -A", "of the whole fleet"],
    ["kubectl knfleet deployments ks -A -o wide", "of all KnativeServing, with images"],
  ],
  options: { filename: filenameFlag() },
  document: "DeploymentList",
  tool: selectionArguments,
  run: async (fleet) => (await import("./deployments.ts")).listDeployments(fleet),
});
