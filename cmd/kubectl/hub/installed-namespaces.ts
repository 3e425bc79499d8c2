import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { textAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";

/** On everything that the chart makes. */
export const chartLabel = "app.kubernetes.io/part-of=knfleet";

/**
 * Namespaces that knfleet is installed in, by the ClusterRoleBindings of the chart. Only administrators create ClusterRoleBindings. A ConfigMap or a Deployment
 * with our labels can be created by everybody who has a namespace. Security: T-16. Throws what KubeClient throws.
 */
export async function installedNamespaces(
  hub: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const resource = knownResource("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");
  const { items } = await hub.list({ resource, labelSelector: chartLabel }, {}, signal);
  const subjects = items.flatMap((one: KubeObject & { readonly subjects?: unknown }) =>
    Array.isArray(one.subjects) ? one.subjects : [],
  );
  return new Set(subjects.flatMap((one) => textAt(one, "namespace") ?? []));
}
