import type { CommandEntry } from "../../command-entry.ts";

/** `credential` on the command line. */
export function credentialEntry(): CommandEntry {
  return {
    name: "credential",
    args: "CLUSTER",
    summary: "Give kubectl and other programs a credential for one cluster",
    text: "What the `exec` part of a kubeconfig runs (client.authentication.k8s.io/v1 and v1beta1): prints an ExecCredential for the cluster of a ClusterProfile, got as\nthe controller gets it, with the time at which it ends. It is never written to disk, and never to a terminal. Where KUBERNETES_EXEC_INFO names another server than\nthe ClusterProfile does, or one that is not verified, there is no credential. `kubeconfig` and `connect` write such a kubeconfig.",
    examples: [
      [
        "kubectl knfleet credential fleet/eu-1 | jq -r .status.expirationTimestamp",
        "when the credential ends",
      ],
    ],
    options: [],
    completes: "clusters",
    isForPrograms: true,
    needsFleet: "it gives out what the cluster is reached with",
    load: async () => (await import("./credential-action.ts")).runCredential,
  };
}
