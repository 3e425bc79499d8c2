import { Option } from "commander";

import type { CommandEntry } from "../command-entry.ts";
import { filenameOption } from "../selection/filename-option.ts";

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
    load: async () => (await import("./get/get-action.ts")).runGet,
  };
}

/** `events` on the command line. */
export function eventsEntry(): CommandEntry {
  return {
    name: "events",
    args: "[TYPE[/NAME] | NAME...]",
    summary: "Show the Events of hub and spokes on one time line",
    text: "Events of the selected installations and of their ClusterProfiles on the hub, and of the namespaces of the installations on their clusters,\nby time. A cluster that cannot be read is named below the table. Warnings InternalError are what the upstream operator tells in no condition:\nthey are named below the table, too.",
    examples: [
      ["kubectl knfleet events ks/knative-serving -n team-a", "of one installation"],
      ["kubectl knfleet events -A --types Warning", "all warnings of the fleet"],
      ["kubectl knfleet events -A --no-live", "of the hub alone"],
      ["kubectl knfleet events ks -A -w", "and what comes"],
      ["kubectl knfleet events -A -w -o json", "the same, one object a line"],
      ["kubectl knfleet events -A --since 10m -o json", "of the last minutes, for scripts"],
    ],
    options: [
      filenameOption(),
      new Option("--types <types>", "only these, such as Warning or Normal,Warning"),
      new Option("--since <duration>", "not older than this"),
      new Option("--no-live", "only the hub's: no spoke is reached"),
      new Option("-w, --watch", "go on with what comes; --timeout ends it"),
    ],
    kind: "EventList",
    readsBundles: true,
    completes: "installations",
    load: async () => (await import("./events/events-action.ts")).runEvents,
  };
}

/** `logs` on the command line. */
export function logsEntry(): CommandEntry {
  return {
    name: "logs",
    args: "[TYPE[/NAME] | NAME...]",
    summary: "Show what controllers and Deployments log about installations",
    text: "Lines of the controller on the hub, knfleet's or the upstream operator's, that are about the selected installations and no others, and of all containers of their\nDeployments on the clusters, on one time line with cluster, pod and container in front. A cluster or container that cannot be read is named below. Control characters\nare taken out, and what looks like a secret.",
    examples: [
      ["kubectl knfleet logs ks/knative-serving -n team-a", "the last lines of everything"],
      ["kubectl knfleet logs ks/knative-serving -f", "and what comes"],
      ["kubectl knfleet logs -A --no-live --since 1h", "what the controller did"],
      ["kubectl knfleet logs ke -A --container eventing-controller --tail 100", "one container"],
      ["kubectl knfleet logs ks -A -f -o json", "one object a line, for scripts"],
      [
        "kubectl knfleet logs ks/knative-serving --bundle fleet.tgz",
        "those that gather took along",
      ],
    ],
    options: [
      filenameOption("--filename <file>"),
      new Option("-f, --follow", "go on with what comes; --timeout ends it"),
      new Option("--since <duration>", "not older than this"),
      new Option(
        "--tail <lines>",
        "the last lines of each container, -1 for all (default 20, with --since all)",
      ),
      new Option("--container <name>", "only containers of this name"),
      new Option("--timestamps", "with the time in front of each line"),
      new Option("--max-streams <number>", "containers that are read (default 50)"),
      new Option("--no-live", "only the controller's: no spoke is reached"),
    ],
    kind: "LogList",
    readsBundles: true,
    completes: "installations",
    load: async () => (await import("./logs/logs-action.ts")).runLogs,
  };
}
