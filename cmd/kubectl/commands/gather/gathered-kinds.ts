/** Kinds that are gathered, by group and plural; nothing else ever is. Of Secrets only names of keys, sizes and salted hashes are kept. */
export const gatheredKinds = {
  /** On the hub alone, and there only what the selected installations are about. */
  hub: [
    "operator.knative.dev/knativeservings",
    "operator.knative.dev/knativeeventings",
    "multicluster.x-k8s.io/clusterprofiles",
  ],
  /** In the namespaces of the installations, on the hub also in those of profiles and controllers. */
  namespaced: [
    "/configmaps",
    "/events",
    "/pods",
    "/secrets",
    "/serviceaccounts",
    "/services",
    "apps/deployments",
    "apps/replicasets",
    "apps/statefulsets",
    "autoscaling/horizontalpodautoscalers",
    "batch/jobs",
    "coordination.k8s.io/leases",
    "policy/poddisruptionbudgets",
    "rbac.authorization.k8s.io/rolebindings",
    "rbac.authorization.k8s.io/roles",
  ],
  /** Of a whole fleet: those with the mark of an installation, as all other kinds then in all namespaces. */
  marked: [
    "apps/daemonsets",
    "rbac.authorization.k8s.io/clusterrolebindings",
    "rbac.authorization.k8s.io/clusterroles",
  ],
  /** Those of whose names one says Knative; of a whole fleet also those that a hub guards, and `kube-system`. */
  clusterWide: [
    "/namespaces",
    "admissionregistration.k8s.io/mutatingwebhookconfigurations",
    "admissionregistration.k8s.io/validatingwebhookconfigurations",
  ],
} as const;
