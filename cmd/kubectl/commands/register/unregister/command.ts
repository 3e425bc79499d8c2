import { agreementFlag, fromKubeconfigFlag, toggle, worded } from "../../../main/command-flags.ts";
import { command } from "../../../main/command.ts";

/** `unregister`: takes back what `register` has made. */
export const unregister = command({
  name: "unregister",
  args: { usage: "CLUSTER", completes: "clusters" },
  summary: "Take back what register has made, on the hub and on the cluster",
  text: "Deletes the ClusterProfile that `register` has made, the Secret with its token, and on the cluster the ServiceAccount with its tokens, the binding, the ClusterRole and the\nnamespace, as far as nothing else needs them. It shows everything and asks once. Refused while a component names the ClusterProfile. The cluster is that of the context which\n`register` used, or of --from-context; a context of another cluster is refused. --keep-spoke leaves a cluster alone that is gone.\nWith --from-context it also takes back what a `register` made that ended before it wrote the ClusterProfile.",
  exits: { 2: "it was refused, or the command could not do its work" },
  examples: [
    ["kubectl knfleet unregister fleet/eu-1", "hub and cluster"],
    [
      "kubectl knfleet unregister fleet/eu-1 --from-context eu-1",
      "also what a register left that was killed",
    ],
    ["kubectl knfleet unregister fleet/eu-1 --keep-spoke", "only the hub"],
    ["kubectl knfleet unregister fleet/eu-1 --dry-run", "what would be deleted"],
  ],
  options: {
    fromContext: worded(
      "--from-context <name>",
      "kubeconfig context of the cluster (default: that of register)",
    ),
    fromKubeconfig: fromKubeconfigFlag(),
    keepSpoke: toggle("--keep-spoke", "delete nothing on the cluster"),
    dryRun: toggle("--dry-run", "only show what would be deleted"),
    yes: agreementFlag(),
  },
  reachesSpokes: false,
  needsFleet: "it deletes on the hub and on a cluster",
  run: async (fleet, options, talk) =>
    (await import("./unregister.ts")).unregisterCluster(fleet, options, talk),
});
