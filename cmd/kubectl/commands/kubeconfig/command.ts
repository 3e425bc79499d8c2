import { agreementFlag, toggle } from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";

/** `kubeconfig`: writes a kubeconfig for clusters of the fleet. */
export const kubeconfig = command({
  name: "kubeconfig",
  args: { usage: "CLUSTER... | --all", completes: "clusters" },
  summary: "Write a kubeconfig for clusters of the fleet, without any token in it",
  text: "A context for each ClusterProfile that is named as NAMESPACE/NAME or NAME, with the server, the authority, the TLS name and the proxy of the ClusterProfile. Its user\nruns `kubectl-knfleet credential`, so no token is on disk and every client gets a fresh one: kubectl, helm, k9s. Printed, or written to the file that -o names and only\nits owner reads. --merge keeps what is in the file and its current context; it asks first. --all takes the ClusterProfiles of all namespaces, or of -n, that --cluster and --on select.",
  examples: [
    ["kubectl knfleet kubeconfig fleet/eu-1 > eu-1.yaml", "one cluster"],
    ["kubectl knfleet kubeconfig --all --merge", "the fleet, in your own kubeconfig"],
    ["kubectl knfleet kubeconfig --all --on region=eu -o eu.yaml", "part of it, in a new file"],
    ["kubectl knfleet kubeconfig --all --merge --dry-run", "what that would change"],
  ],
  options: {
    all: toggle("--all", "all ClusterProfiles that the flags select"),
    merge: toggle("--merge", "into a file that is there (default: the first that kubectl reads)"),
    yes: agreementFlag("do not ask; without --merge: replace a file that is there"),
    dryRun: toggle("--dry-run", "only tell what would change"),
  },
  writesFile: true,
  needsFleet: "it writes how the cluster is reached",
  run: async (fleet, options, talk) =>
    (await import("./write-kubeconfig.ts")).writeKubeconfig(fleet, options, talk),
});
