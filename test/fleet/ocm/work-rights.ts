import type { Cluster } from "../cluster.ts";

/** Adds the rules of a ClusterRole to those of the work agent. */
const aggregation = { "open-cluster-management.io/aggregate-to-work": "true" };
const allVerbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
const rbac = "rbac.authorization.k8s.io";

/** What the work agent needs for itself. Source: OCM's role `…-work:agent`. */
const ownRules = [
  {
    apiGroups: ["work.open-cluster-management.io"],
    resources: ["appliedmanifestworks", "appliedmanifestworks/status"],
    verbs: allVerbs,
  },
  {
    apiGroups: ["work.open-cluster-management.io"],
    resources: ["appliedmanifestworks/finalizers"],
    verbs: ["update"],
  },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
];

/** What OCM lets it apply beside `admin`, as far as works of these tests need it. Source: OCM's role `…-work:execution`. */
const executionRules = [
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    verbs: ["get", "list", "watch", "create", "delete", "update"],
  },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["create", "update", "patch", "delete"] },
  { apiGroups: [rbac], resources: ["clusterrolebindings", "rolebindings"], verbs: allVerbs },
  {
    apiGroups: [rbac],
    resources: ["clusterroles", "roles"],
    verbs: [...allVerbs, "escalate", "bind"],
  },
];

/** Writes a kubeconfig with the rights that OCM gives its work agent, but without those to apply what is cluster-scoped. */
export async function writeWorkKubeconfig(spoke: Cluster): Promise<string> {
  const name = "knfleet-test-work-aggregate";
  await spoke.admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRole",
    metadata: { name },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregation }] },
    rules: [],
  });
  await allow(spoke, []);
  const { token } = await spoke.serviceAccountToken({
    namespace: "open-cluster-management-agent",
    name: "klusterlet-work-sa",
    rules: ownRules,
    clusterRoles: ["admin", name],
  });
  return spoke.writeKubeconfig("work-agent.kubeconfig", { identity: { token } });
}

/** Lets the work agent apply what OCM lets it apply by default. */
export async function letExecute(spoke: Cluster): Promise<void> {
  await allow(spoke, executionRules);
}

async function allow({ admin }: Cluster, rules: readonly object[]): Promise<void> {
  await admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRole",
    metadata: { name: "knfleet-test-work-execution", labels: aggregation },
    rules,
  });
}
