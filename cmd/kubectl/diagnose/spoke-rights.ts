/** What the controller may do to kinds of one API group on a spoke. */
export interface SpokeRight {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const read = ["get", "list", "watch"];
const all = [...read, "create", "update", "patch", "delete", "deletecollection"];

/** The rights that every installation needs; docs/spoke-role.yaml, which is held to this list, has those for optional kinds besides. */
export const spokeRights: readonly SpokeRight[] = [
  { group: "", resources: ["namespaces"], verbs: [...read, "create", "patch"] },
  {
    group: "apiextensions.k8s.io",
    resources: ["customresourcedefinitions"],
    verbs: [...read, "create", "update", "patch"],
  },
  {
    group: "",
    resources: ["configmaps", "secrets", "serviceaccounts", "services"],
    verbs: all,
  },
  { group: "apps", resources: ["deployments"], verbs: all },
  { group: "batch", resources: ["jobs"], verbs: all },
  { group: "autoscaling", resources: ["horizontalpodautoscalers"], verbs: all },
  { group: "policy", resources: ["poddisruptionbudgets"], verbs: all },
  {
    group: "admissionregistration.k8s.io",
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    verbs: all,
  },
  {
    group: "rbac.authorization.k8s.io",
    resources: ["clusterroles", "roles", "clusterrolebindings", "rolebindings"],
    verbs: all,
  },
  {
    group: "rbac.authorization.k8s.io",
    resources: ["clusterroles", "roles"],
    verbs: ["bind", "escalate"],
  },
];
