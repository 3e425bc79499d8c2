import { ApiError, unlessDenied } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { ClusterProfileRef, Component, ComponentKind } from "../../../../api/component.ts";
import { targetId } from "../../../../api/keys.ts";
import type { KubeObject, ObjectKey } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import {
  anchorLabels,
  componentUidLabel,
  guardLabels,
  managedByValue,
} from "../../../../installation/anchor.ts";
import type { OrphanFinding } from "../../findings/orphan-findings.ts";
import { words } from "../../output/steps.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";

/** One leftover or obstacle. */
export interface OrphanItem {
  readonly finding: OrphanFinding;
  /** Where the object is; null for the hub itself. */
  readonly cluster: ClusterProfileRef | null;
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string | null;
    readonly name: string;
  };
  /** The component that the leftover belongs to, as far as known. */
  readonly component: {
    readonly kind: ComponentKind | null;
    readonly name: string | null;
    readonly uid: string | null;
  } | null;
  /** Number of objects that are removed with it. */
  readonly objects: number;
  readonly message: string;
  /** Steps in order: commands to paste, or sentences. Nothing happens automatically. */
  readonly next: readonly string[];
}

/** A key in the form of the document. */
export function objectOf({
  apiVersion,
  kind,
  namespace = "",
  name,
}: ObjectKey): OrphanItem["object"] {
  return { apiVersion, kind, namespace: namespace === "" ? null : namespace, name };
}

/** The arguments with which kubectl names an object. */
export function argumentsOf({ kind, namespace, name }: OrphanItem["object"]): string {
  return words(kind.toLowerCase(), name, ...(namespace === null ? [] : ["-n", namespace]));
}

const patienceMs = 60_000;

/** Whether a deletion takes so long that something seems to block it. */
export function isStuck(
  {
    deletionTimestamp,
    finalizers = [],
  }: {
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  },
  nowMs: number,
): boolean {
  if (deletionTimestamp === undefined || finalizers.length === 0) return false;
  return nowMs - Date.parse(deletionTimestamp) > patienceMs;
}

/** Objects of installations on one cluster. */
export interface Traces {
  /** Uid of the namespace `kube-system`, which identifies the cluster; undefined when it may not be read. */
  readonly clusterUid: string | undefined;
  /** Complete anchors of all namespaces. */
  readonly anchors: readonly KubeObject[];
  /** Metadata of objects with the label of an installation. */
  readonly marked: readonly KubeObject[];
  /** Metadata of namespaces that a hub guards. */
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

/** Reads the traces with one list for each kind. Throws what KubeClient throws, except for missing rights. */
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
  const system = { resource: knownResource("v1", "Namespace"), name: "kube-system" };
  const [cluster, anchors, guarded, marked] = await Promise.all([
    unlessDenied(client.get(system, { metadataOnly: true }, signal)),
    listed(["v1", "ConfigMap"], isAnchor, false),
    listed(["v1", "Namespace"], guardLabels.namespace),
    mapLimited(kinds, atOnce, (kind) => listed(kind, componentUidLabel)),
  ]);
  return {
    clusterUid: cluster?.metadata.uid,
    anchors,
    guarded,
    marked: marked.flat(),
    denied: [...new Set(denied)].toSorted(),
  };
}

/** Facts about the hub and the other clusters. */
export interface Known {
  /** Null for the hub itself. */
  readonly cluster: ClusterProfileRef | null;
  /** All names of this cluster: `namespace/name` of ClusterProfiles, "" for the hub. */
  readonly names: ReadonlySet<string>;
  /** Names of completely read clusters. A name that is not in `names` is another cluster. */
  readonly read: ReadonlySet<string>;
  /** All components of the hub. */
  readonly components: readonly Component[];
  /** Undefined when it may not be read; then no anchor counts as that of another hub. */
  readonly hubId: string | undefined;
  readonly nowMs: number;
}

/** Whether a component is for a cluster that is known to be another one. */
export function isElsewhere(component: Component, { names, read }: Known): boolean {
  const target = targetId(component);
  return read.has(target) && !names.has(target);
}
