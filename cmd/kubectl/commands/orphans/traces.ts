import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import {
  anchorLabels,
  componentUidLabel,
  guardLabels,
  managedByValue,
} from "../../../../installation/anchor.ts";
import { mapLimited } from "../../concurrency.ts";

/** What installations have left on one cluster. */
export interface Traces {
  /** Anchors, whole, of all namespaces. */
  readonly anchors: readonly KubeObject[];
  /** Objects with the label of an installation, as metadata. */
  readonly marked: readonly KubeObject[];
  /** Namespaces that a hub guards, as metadata. */
  readonly guarded: readonly KubeObject[];
  /** Kinds that may not be listed. */
  readonly denied: readonly string[];
}

const kinds: readonly (readonly [apiVersion: string, kind: string])[] = [
  ["apps/v1", "Deployment"],
  ["apps/v1", "StatefulSet"],
  ["apps/v1", "DaemonSet"],
  ["batch/v1", "Job"],
  ["v1", "ConfigMap"],
  ["v1", "Secret"],
  ["v1", "Service"],
  ["v1", "ServiceAccount"],
  ["autoscaling/v2", "HorizontalPodAutoscaler"],
  ["policy/v1", "PodDisruptionBudget"],
  ["rbac.authorization.k8s.io/v1", "Role"],
  ["rbac.authorization.k8s.io/v1", "RoleBinding"],
  ["rbac.authorization.k8s.io/v1", "ClusterRole"],
  ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding"],
  ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"],
  ["admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"],
];

const atOnce = 8;

/** Looks for them by one list for each kind. Throws what KubeClient throws, but for rights that are missing. */
export async function readTraces(client: KubeClient, signal: AbortSignal): Promise<Traces> {
  const denied: string[] = [];
  const listed = async (
    [apiVersion, kind]: readonly [string, string],
    labelSelector: string,
    metadataOnly = true,
  ): Promise<readonly KubeObject[]> => {
    const resource = knownResource(apiVersion, kind);
    try {
      const { items } = await client.list({ resource, labelSelector }, { metadataOnly }, signal);
      // Items of a list carry neither apiVersion nor kind.
      return items.map((item) => ({ ...item, apiVersion, kind }));
    } catch (error) {
      if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
      if (error.status === 403) denied.push(resource.plural);
      return [];
    }
  };
  const isAnchor = `${anchorLabels.managedBy}=${managedByValue},${anchorLabels.componentName}`;
  const [anchors, guarded, marked] = await Promise.all([
    listed(["v1", "ConfigMap"], isAnchor, false),
    listed(["v1", "Namespace"], guardLabels.namespace),
    mapLimited(kinds, atOnce, (kind) => listed(kind, componentUidLabel)),
  ]);
  return { anchors, guarded, marked: marked.flat(), denied: [...new Set(denied)].toSorted(byText) };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
