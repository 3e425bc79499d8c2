import { command } from "../../main/command.ts";

/** `credential`: a credential for one cluster, as kubectl asks for it. */
export const credential = command({
  name: "credential",
  args: { usage: "CLUSTER", completes: "clusters" },
  summary: "Give kubectl and other programs a credential for one cluster",
  text: "What the `exec` part of a kubeconfig runs (client.authentication.k8s.io/v1 and v1beta1): prints an ExecCredential for the cluster of a ClusterProfile, got as\nthe controller gets it, with the time at which it ends. It is never written to disk, and never to a terminal. Where KUBERNETES_EXEC_INFO names another server than\nthe ClusterProfile does, or one that is not verified, there is no credential. `kubeconfig` and `connect` write such a kubeconfig.",
  examples: [
    [
      "kubectl knfleet credential fleet/eu-1 | jq -r .status.expirationTimestamp",
      "when the credential ends",
    ],
  ],
  options: {},
  isForPrograms: true,
  needsFleet: "it gives out what the cluster is reached with",
  run: async (fleet) => (await import("./credential.ts")).giveCredential(fleet),
});
