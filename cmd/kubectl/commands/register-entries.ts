import { Option } from "commander";

import type { CommandEntry } from "../action.ts";
import { several } from "../common-options.ts";

const kubeconfigOption = (): Option =>
  new Option("--from-kubeconfig <file>", "kubeconfig of the cluster (default: that of the hub)");
const yesOption = (): Option => new Option("--yes", "do not ask");

/** `register` on the command line. */
export function registerEntry(): CommandEntry {
  return {
    name: "register",
    args: "CLUSTER",
    summary: "Make the cluster of a kubeconfig context usable for the controller",
    text: "On the cluster, with your own rights: namespace knfleet, a ServiceAccount, the ClusterRole of docs/spoke-role.yaml with its binding, and a token. On the hub: the token in a\nSecret for a provider of the hub's provider file, and a ClusterProfile with the address of the cluster. Everything is shown first, and it asks once. Then it takes the walk of\n`diagnose`. CLUSTER is NAME or NAMESPACE/NAME of the ClusterProfile, in namespace fleet unless -n says otherwise, and the name of the context unless --from-context says otherwise.\nRun it again to give the hub a new token; the old one is deleted. With --labels alone the token stays. What is not named stays as an earlier register was told. The address of a kind or k3d cluster beside a hub of the same tool is that of its container.",
    examples: [
      ["kubectl knfleet register eu-1", "the cluster of context eu-1, as fleet/eu-1"],
      [
        "kubectl knfleet register eu-1 --from-context kind-eu-1 --labels region=eu,tier=prod",
        "from another context, with labels",
      ],
      ["kubectl knfleet register eu-1 --ttl 24h --yes", "a token that ends, without a question"],
      [
        "kubectl knfleet register eu-1 --dry-run -o yaml",
        "what would be written, without the token",
      ],
      [
        "kubectl knfleet register eu-1 --spoke-server https://10.0.0.5:6443",
        "another address for the controller",
      ],
    ],
    options: [
      new Option("--from-context <name>", "kubeconfig context of the cluster (default: CLUSTER)"),
      kubeconfigOption(),
      new Option("--name <name>", "name of the ClusterProfile, when CLUSTER is only its context"),
      new Option(
        "--labels <key=value>",
        "labels of the ClusterProfile, KEY- removes one; can be repeated",
      ).argParser(several),
      new Option(
        "--ttl <duration>",
        "a token that ends, such as 24h or 30d; 0: it stays (default: as before, else 0)",
      ),
      new Option(
        "--spoke-server <url>",
        "address of the cluster for the controller (default: that of the context)",
      ),
      new Option("--account <name>", "ServiceAccount on the cluster (default knfleet-hub)"),
      new Option("--dry-run", "only show what would be written"),
      yesOption(),
    ],
    completes: "contexts",
    needsFleet: "it writes to the hub and to a cluster",
    load: async () => (await import("./register/register-action.ts")).runRegister,
  };
}

/** `unregister` on the command line. */
export function unregisterEntry(): CommandEntry {
  return {
    name: "unregister",
    args: "CLUSTER",
    summary: "Take back what register has made, on the hub and on the cluster",
    text: "Deletes the ClusterProfile that `register` has made, the Secret with its token, and on the cluster the ServiceAccount with its tokens, the binding, the ClusterRole and the\nnamespace, as far as nothing else needs them. It shows everything and asks once. Refused while a component names the ClusterProfile. The cluster is that of the context which\n`register` used, or of --from-context; a context of another cluster is refused. --keep-spoke leaves a cluster alone that is gone.\nWith --from-context it also takes back what a `register` made that ended before it wrote the ClusterProfile.",
    examples: [
      ["kubectl knfleet unregister fleet/eu-1", "hub and cluster"],
      [
        "kubectl knfleet unregister fleet/eu-1 --from-context eu-1",
        "also what a register left that was killed",
      ],
      ["kubectl knfleet unregister fleet/eu-1 --keep-spoke", "only the hub"],
      ["kubectl knfleet unregister fleet/eu-1 --dry-run", "what would be deleted"],
    ],
    options: [
      new Option(
        "--from-context <name>",
        "kubeconfig context of the cluster (default: that of register)",
      ),
      kubeconfigOption(),
      new Option("--keep-spoke", "delete nothing on the cluster"),
      new Option("--dry-run", "only show what would be deleted"),
      yesOption(),
    ],
    completes: "clusters",
    needsFleet: "it deletes on the hub and on a cluster",
    load: async () => (await import("./register/unregister/unregister-action.ts")).runUnregister,
  };
}
