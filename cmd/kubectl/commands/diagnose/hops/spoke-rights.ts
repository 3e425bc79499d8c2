/** What the controller may do to kinds of one API group on a spoke. */
export interface SpokeRight {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** What it takes to follow a kind. */
export const readVerbs: readonly string[] = ["get", "list", "watch"];

/** What it takes to install, follow, repair and remove objects of a kind: they are applied (`patch`), never replaced (`update`). */
export const allVerbs: readonly string[] = [
  ...readVerbs,
  "create",
  "patch",
  "delete",
  "deletecollection",
];

/** The rights that every installation needs; docs/spoke-role.yaml, which is held to this list, has those for optional kinds besides. */
export const spokeRights: readonly SpokeRight[] = [
  { group: "", resources: ["namespaces"], verbs: [...readVerbs, "create", "patch"] },
  {
    group: "apiextensions.k8s.io",
    resources: ["customresourcedefinitions"],
    verbs: [...readVerbs, "create", "patch"],
  },
  {
    group: "",
    resources: ["configmaps", "secrets", "serviceaccounts", "services"],
    verbs: allVerbs,
  },
  { group: "apps", resources: ["deployments", "statefulsets"], verbs: allVerbs },
  { group: "batch", resources: ["jobs"], verbs: allVerbs },
  { group: "autoscaling", resources: ["horizontalpodautoscalers"], verbs: allVerbs },
  { group: "policy", resources: ["poddisruptionbudgets"], verbs: allVerbs },
  {
    group: "admissionregistration.k8s.io",
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    verbs: allVerbs,
  },
  {
    group: "rbac.authorization.k8s.io",
    resources: ["clusterroles", "roles", "clusterrolebindings", "rolebindings"],
    verbs: allVerbs,
  },
  {
    group: "rbac.authorization.k8s.io",
    resources: ["clusterroles", "roles"],
    verbs: ["bind", "escalate"],
  },
];
