import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject, NamespacedName } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { guardLabels } from "../../installation/anchor.ts";
import type { Prober } from "./prober.ts";

const namespaces = knownResource("v1", "Namespace");

export interface RecheckWork {
  readonly client: Pick<KubeClient, "list">;
  readonly prober: Pick<Prober, "anchorDeletion" | "creations">;
  readonly hubId: string;
  readonly anchors: readonly NamespacedName[];
  /** Told of each namespace that is guarded. */
  readonly onNamespace: (namespace: KubeObject) => void;
}

/**
 * Whether a cluster would let an anchor be deleted, or make one of nobody or a guarded namespace, by asking for it as a dry run. What cannot be asked
 * proves nothing. Spec: anchor-guard.md 6.1, step 5.
 */
export async function isUnguarded(
  { client, prober, hubId, anchors, onNamespace }: RecheckWork,
  signal: AbortSignal,
): Promise<boolean> {
  const labelSelector = `${guardLabels.namespace}=${hubId}`;
  const guarded = await client
    .list({ resource: namespaces, labelSelector }, { metadataOnly: true }, signal)
    .catch(() => ({ items: [] }));
  signal.throwIfAborted();
  guarded.items.forEach(onNamespace);
  const verdicts = await Promise.all([
    ...anchors.map((anchor) => prober.anchorDeletion(anchor, signal)),
    // Not by deletion: the controller has no right to delete namespaces, so that nobody would ask the guard.
    ...anchors.slice(0, 1).map(({ namespace }) => prober.creations(namespace, "new", signal)),
  ]);
  return verdicts.flat().includes("allowed");
}
