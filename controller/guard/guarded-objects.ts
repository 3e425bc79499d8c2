import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { anchorAnnotations, guardLabels } from "../../installation/anchor.ts";

const namespaces = knownResource("v1", "Namespace");

export interface Leaving {
  readonly client: Pick<KubeClient, "list" | "patch">;
  readonly fieldManager: string;
  readonly hubId: string;
  /** Of the component whose anchor is gone. */
  readonly componentUid: string;
  /** Where that anchor was. */
  readonly namespace: string;
  /** Whether the hub still has a component. */
  readonly isKnown: (uid: string) => boolean;
}

/**
 * Takes the guard's label off the namespaces that were made for a component, so that they can be deleted: not where another anchor of
 * this hub is. The last installation in a
 * namespace also removes the label when the component that created the namespace is gone. Spec: anchor-guard.md 6.3, step 6.
 */
export async function releaseNamespaces(
  { client, fieldManager, hubId, componentUid, ...leaving }: Leaving,
  signal: AbortSignal,
): Promise<void> {
  const labelSelector = `${guardLabels.namespace}=${hubId}`;
  const anchorsIn = (namespace: string) => anchorsOf(client, { hubId, namespace }, signal);
  // The only one, as a rule.
  const [{ items }, anchors] = await Promise.all([
    client.list({ resource: namespaces, labelSelector }, { metadataOnly: true }, signal),
    anchorsIn(leaving.namespace),
  ]);
  const ours = items.filter(({ metadata: { name, annotations = {}, deletionTimestamp } }) => {
    const maker = annotations[anchorAnnotations.componentUid];
    const isLeft = maker !== undefined && name === leaving.namespace && !leaving.isKnown(maker);
    return (maker === componentUid || isLeft) && deletionTimestamp === undefined;
  });
  for (const { metadata } of ours) {
    const { name, uid } = metadata;
    const left = name === leaving.namespace ? anchors : await anchorsIn(name);
    if (left.length > 0) continue;
    const patch = { metadata: { uid, labels: { [guardLabels.namespace]: null } } };
    const options = { fieldManager, metadataOnly: true };
    await client.patch({ resource: namespaces, name }, patch, options, signal);
  }
}

const resource = knownResource("v1", "ConfigMap");

/**
 * The anchors of a hub on a cluster, or in one namespace of it, read live. Not by label, which anybody may take off.
 */
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
