import type { Manifest } from "../api/kubernetes.ts";

/** The ClusterRole of docs/spoke-role.yaml. */
export const spokeRoleName = "knfleet-spoke";

/** A rule of a Role or ClusterRole. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const readVerbs: readonly string[] = ["get", "list", "watch"];
const keepVerbs: readonly string[] = [...readVerbs, "create", "patch"];
const allVerbs: readonly string[] = [...keepVerbs, "delete", "deletecollection"];

function rule(group: string, resources: readonly string[], verbs: readonly string[]): Rule {
  return { apiGroups: [group], resources, verbs };
}

/** The rights of knfleet on a spoke. docs/spoke-role.yaml is the source and says why each rule is needed; a test compares both. */
export const spokeRules: readonly Rule[] = [
  rule("", ["namespaces"], keepVerbs),
  rule("apiextensions.k8s.io", ["customresourcedefinitions"], keepVerbs),
  rule("", ["configmaps", "secrets", "serviceaccounts", "services"], allVerbs),
  rule("", ["configmaps/finalizers"], ["update"]),
  rule("apps", ["deployments", "statefulsets", "daemonsets"], allVerbs),
  rule("batch", ["jobs", "cronjobs"], allVerbs),
  rule("autoscaling", ["horizontalpodautoscalers"], allVerbs),
  rule("policy", ["poddisruptionbudgets"], allVerbs),
  rule(
    "admissionregistration.k8s.io",
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    allVerbs,
  ),
  rule(
    "admissionregistration.k8s.io",
    ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
    ["get", "list", "watch", "create", "update", "patch", "delete"],
  ),
  rule(
    "rbac.authorization.k8s.io",
    ["clusterroles", "roles", "clusterrolebindings", "rolebindings"],
    allVerbs,
  ),
  rule("rbac.authorization.k8s.io", ["clusterroles", "roles"], ["bind", "escalate"]),
  rule("caching.internal.knative.dev", ["images"], allVerbs),
  rule("networking.internal.knative.dev", ["certificates"], allVerbs),
  rule("cert-manager.io", ["certificates"], allVerbs),
  rule("networking.istio.io", ["gateways"], allVerbs),
  rule("security.istio.io", ["peerauthentications"], allVerbs),
  rule("projectcontour.io", ["tlscertificatedelegations"], allVerbs),
  rule("", ["pods", "events"], readVerbs),
  rule("", ["pods/log"], ["get"]),
  rule("apps", ["replicasets"], readVerbs),
];

/** The ClusterRole with the rights of the controller on a spoke. */
export function spokeRole(labels: Readonly<Record<string, string>>): Manifest {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: {
      name: spokeRoleName,
      labels: { "app.kubernetes.io/part-of": "knfleet", ...labels },
    },
    rules: spokeRules,
  };
}
