import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { anchorAnnotations, guardLabels } from "../../installation/anchor.ts";

const namespaces = knownResource("v1", "Namespace");

/** The installation whose namespaces are released. */
export interface NamespaceRelease {
  readonly client: Pick<KubeClient, "list" | "patch">;
  readonly fieldManager: string;
  readonly hubId: string;
  /** Uid of the component whose anchor is gone. */
  readonly componentUid: string;
  /** Namespace of that anchor. */
  readonly namespace: string;
  /** Whether the hub still has the component of this uid. */
  readonly isKnown: (uid: string) => boolean;
}

/**
 * Removes the guard's label from the namespaces that were created for a component, so that they can be deleted. A namespace with another anchor of
 * this hub keeps its label. The last installation in a namespace also removes the label when the component that created the namespace is gone.
 * Spec: anchor-guard.md 6.3, step 6.
 */
export async function releaseNamespaces(
  {
    client,
    fieldManager,
    hubId,
    componentUid,
    namespace: anchorNamespace,
    isKnown,
  }: NamespaceRelease,
  signal: AbortSignal,
): Promise<void> {
  const labelSelector = `${guardLabels.namespace}=${hubId}`;
  const anchorsIn = (namespace: string) => anchorsOf(client, { hubId, namespace }, signal);
  // Usually this is the only namespace.
  const [{ items }, anchors] = await Promise.all([
    client.list({ resource: namespaces, labelSelector }, { metadataOnly: true }, signal),
    anchorsIn(anchorNamespace),
  ]);
  const ours = items.filter(({ metadata: { name, annotations = {}, deletionTimestamp } }) => {
    const creatorUid = annotations[anchorAnnotations.componentUid];
    const isAbandoned =
      creatorUid !== undefined && name === anchorNamespace && !isKnown(creatorUid);
    return (creatorUid === componentUid || isAbandoned) && deletionTimestamp === undefined;
  });
  for (const { metadata } of ours) {
    const { name, uid } = metadata;
    const left = name === anchorNamespace ? anchors : await anchorsIn(name);
    if (left.length > 0) continue;
    const patch = { metadata: { uid, labels: { [guardLabels.namespace]: null } } };
    const options = { fieldManager, metadataOnly: true };
    await client.patch({ resource: namespaces, name }, patch, options, signal);
  }
}

const resource = knownResource("v1", "ConfigMap");

/** Reads the anchors of a hub on a cluster, or in one of its namespaces. Labels do not select them, because anybody may remove a label. */
export async function anchorsOf(
  client: Pick<KubeClient, "list">,
  { hubId, namespace }: { readonly hubId: string; readonly namespace?: string },
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const ref = namespace === undefined ? { resource } : { resource, namespace };
  const { items } = await client.list(ref, { metadataOnly: true }, signal);
  return items.filter(({ metadata: { annotations = {} } }) => {
    const isOurs = annotations[anchorAnnotations.hubId] === hubId;
    return isOurs && annotations[anchorAnnotations.protected] !== undefined;
  });
}
