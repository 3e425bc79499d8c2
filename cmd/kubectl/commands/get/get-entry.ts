import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { filenameOption } from "../../selection/filename-option.ts";

/** `get` on the command line. */
export function getEntry(): CommandEntry {
  return {
    name: "get",
    args: "KIND[,KIND...] [NAME...] | KIND/NAME...",
    summary: "List objects of any kind on the clusters of installations",
    text: "Objects as kubectl get shows them, with the columns of each cluster's API server and the cluster in front, read through the ClusterProfile of\nthe selected installations (-n, -A, -l, --cluster, --on). Without --spoke-namespace those of the installations' namespaces.\nA cluster that cannot be read is named below the table.",
    examples: [
      ["kubectl knfleet get pods -A", "pods of all installations"],
      ["kubectl knfleet get deploy,pods -A --on region=eu -o wide", "on some clusters"],
      ["kubectl knfleet get ksvc -A --all-spoke-namespaces", "what users run"],
      ["kubectl knfleet get cm/config-features -A -o json", "one object of every cluster"],
    ],
    options: [
      filenameOption(),
      new Option("--spoke-namespace <name>", "namespace on the clusters"),
      new Option("--all-spoke-namespaces", "all namespaces of the clusters"),
      new Option("--spoke-selector <labels>", "objects with these labels"),
      new Option("--field-selector <fields>", "objects with these fields"),
      new Option("--show-labels", "the labels as the last column"),
    ],
    kind: "ObjectList",
    readsBundles: true,
    completes: "kinds",
    load: async () => (await import("./get-action.ts")).runGet,
  };
}
