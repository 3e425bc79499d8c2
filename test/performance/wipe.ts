import { describe, keyOf, type Manifest, type ObjectKey } from "../../api/kubernetes.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";

/**
 * Makes a cluster as it was before the manifests were applied, CRDs and namespaces included, so that every measured
 * installation is a first one. Waits until the server has forgotten them.
 */
export async function wipe(cluster: Cluster, manifests: readonly Manifest[]): Promise<void> {
  const keysOf = (wanted: (manifest: Manifest) => boolean): readonly ObjectKey[] =>
    manifests.filter(wanted).map(keyOf);
  // While they stand they can refuse the deletion of what comes next.
  await removeAll(cluster, keysOf(isWebhookConfiguration));
  const clusterScoped = ({ kind, metadata }: Manifest): boolean =>
    metadata.namespace === undefined && kind !== "Namespace" && !isCrd({ kind });
  await removeAll(cluster, keysOf(clusterScoped));
  await removeAll(cluster, namespacesOf(manifests).map(namespaceKey));
  // After the namespaces: the server cannot empty a namespace while it forgets kinds.
  await removeAll(cluster, keysOf(isCrd));
}

async function removeAll({ admin, name }: Cluster, keys: readonly ObjectKey[]): Promise<void> {
  await Promise.all(keys.map((key) => admin.remove(key)));
  let left = keys;
  const isDone = async (): Promise<boolean> => {
    const found = await Promise.all(left.map((key) => admin.get(key)));
    left = left.filter((_, index) => found[index] !== undefined);
    return left.length === 0;
  };
  try {
    await waitFor(`${name} to be empty again`, isDone, { timeoutMs: 120_000 });
  } catch (error) {
    throw new Error(`Still there: ${left.map(describe).join(", ")}`, { cause: error });
  }
}

function isWebhookConfiguration({ kind }: Pick<Manifest, "kind">): boolean {
  return kind.endsWith("WebhookConfiguration");
}

function isCrd({ kind }: Pick<Manifest, "kind">): boolean {
  return kind === "CustomResourceDefinition";
}

function namespacesOf(manifests: readonly Manifest[]): readonly string[] {
  return [...new Set(manifests.map(({ metadata }) => metadata.namespace ?? ""))].filter(
    (name) => name !== "",
  );
}

function namespaceKey(name: string) {
  return { apiVersion: "v1", kind: "Namespace", name };
}
