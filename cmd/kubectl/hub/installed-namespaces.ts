import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { textAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";

/** The label of all objects of the chart. */
export const chartLabel = "app.kubernetes.io/part-of=knfleet";

/**
 * Lists the namespaces of knfleet, by the ClusterRoleBindings of the chart. Only administrators create ClusterRoleBindings, but everybody with a namespace
 * can create a ConfigMap or Deployment with our labels. Security: T-16. Throws the errors of KubeClient.
 */
export async function listInstalledNamespaces(
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
