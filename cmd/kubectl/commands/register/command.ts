import {
  agreementFlag,
  fromKubeconfigFlag,
  repeated,
  toggle,
  worded,
} from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";

/** `register`: makes the cluster of a kubeconfig context usable for the controller. */
export const register = command({
  name: "register",
  args: { usage: "CLUSTER", completes: "contexts" },
  summary: "Make the cluster of a kubeconfig context usable for the controller",
  text: "On the cluster, with your own rights: namespace knfleet, a ServiceAccount, the ClusterRole of docs/spoke-role.yaml with its binding, and a token. On the hub: the token in a\nSecret for a provider of the hub's provider file, and a ClusterProfile with the address of the cluster. Everything is shown first, and it asks once. Then it takes the walk of\n`diagnose`. CLUSTER is NAME or NAMESPACE/NAME of the ClusterProfile, in namespace fleet unless -n says otherwise, and the name of the context unless --from-context says otherwise.\nRun it again to give the hub a new token; the old one is deleted. With --labels alone the token stays. What is not named stays as an earlier register was told. The address of a kind or k3d cluster beside a hub of the same tool is that of its container.",
  exits: {
    1: "everything was written, and the walk fails on the way to the cluster",
    2: "it was refused, or the command could not do its work",
  },
  examples: [
    ["kubectl knfleet register eu-1", "the cluster of context eu-1, as fleet/eu-1"],
    [
      "kubectl knfleet register eu-1 --from-context kind-eu-1 --labels region=eu,tier=prod",
      "from another context, with labels",
    ],
    ["kubectl knfleet register eu-1 --ttl 24h --yes", "a token that ends, without a question"],
    ["kubectl knfleet register eu-1 --dry-run -o yaml", "what would be written, without the token"],
    [
      "kubectl knfleet register eu-1 --spoke-server https://10.0.0.5:6443",
      "another address for the controller",
    ],
  ],
  options: {
    fromContext: worded(
      "--from-context <name>",
      "kubeconfig context of the cluster (default: CLUSTER)",
    ),
    fromKubeconfig: fromKubeconfigFlag(),
    name: worded("--name <name>", "name of the ClusterProfile, when CLUSTER is only its context"),
    labels: repeated(
      "--labels <key=value>",
      "labels of the ClusterProfile, KEY- removes one; can be repeated",
    ),
    ttl: worded(
      "--ttl <duration>",
      "a token that ends, such as 24h or 30d; 0: it stays (default: as before, else 0)",
    ),
    spokeServer: worded(
      "--spoke-server <url>",
      "address of the cluster for the controller (default: that of the context)",
    ),
    account: worded("--account <name>", "ServiceAccount on the cluster (default knfleet-hub)"),
    dryRun: toggle("--dry-run", "only show what would be written"),
    yes: agreementFlag(),
  },
  reachesSpokes: false,
  needsFleet: "it writes to the hub and to a cluster",
  run: async (fleet, options, talk) =>
    (await import("./register.ts")).registerCluster(fleet, options, talk),
});
