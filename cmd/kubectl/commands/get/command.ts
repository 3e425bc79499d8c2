import { filenameFlag, forTools, toggle, worded } from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";

/** `get`: objects of any kind on the clusters of installations. */
export const get = command({
  name: "get",
  args: {
    usage: "KIND[,KIND...] [NAME...] | KIND/NAME...",
    completes: "kinds",
    tool: {
      name: "kinds",
      text: "Kinds such as pods or deployments, or KIND/NAME",
      isRequired: true,
    },
  },
  summary: "List objects of any kind on the clusters of installations",
  text: "Objects as kubectl get shows them, with the columns of each cluster's API server and the cluster in front, read through the ClusterProfile of\nthe selected installations (-n, -A, -l, --cluster, --on). Without --spoke-namespace those of the installations' namespaces.\nA cluster that cannot be read is named below the table.",
  examples: [
    ["kubectl knfleet get pods -A", "pods of all installations"],
    ["kubectl knfleet get deploy,pods -A --on region=eu -o wide", "on some clusters"],
    ["kubectl knfleet get ksvc -A --all-spoke-namespaces", "what users run"],
    ["kubectl knfleet get cm/config-features -A -o json", "one object of every cluster"],
  ],
  options: {
    filename: filenameFlag(),
    spokeNamespace: forTools(worded("--spoke-namespace <name>", "namespace on the clusters")),
    allSpokeNamespaces: toggle("--all-spoke-namespaces", "all namespaces of the clusters"),
    spokeSelector: forTools(worded("--spoke-selector <labels>", "objects with these labels")),
    fieldSelector: worded("--field-selector <fields>", "objects with these fields"),
    showLabels: toggle("--show-labels", "the labels as the last column"),
  },
  document: "ObjectList",
  tool: selectionArguments,
  run: async (fleet, options) => (await import("./get.ts")).getObjects(fleet, options),
});
