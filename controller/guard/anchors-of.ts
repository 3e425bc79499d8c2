import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";

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
