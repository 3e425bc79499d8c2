import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { keyOf } from "../../api/kubernetes.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";

/**
 * Makes a cluster as it was before the manifests were applied, CRDs and namespaces included, so that every measured
 * installation is a first one. Waits until the server has forgotten them.
 */
export async function wipe(cluster: Cluster, manifests: readonly Manifest[]): Promise<void> {
  const { admin } = cluster;
  const removeAll = async (wanted: (manifest: Manifest) => boolean): Promise<void> => {
    await Promise.all(manifests.filter(wanted).map((manifest) => admin.remove(keyOf(manifest))));
  };
  // While they stand they can refuse the deletion of what comes next.
  await removeAll(({ kind }) => kind.endsWith("WebhookConfiguration"));
  const namespaces = namespacesOf(manifests);
  await removeAll(({ kind, metadata }) => metadata.namespace === undefined && kind !== "Namespace");
  await Promise.all(namespaces.map((name) => admin.remove(namespaceKey(name))));
  const crds = manifests.filter(({ kind }) => kind === "CustomResourceDefinition");
  await waitFor(
    `${cluster.name} to be empty again`,
    async () => {
      const left: (KubeObject | undefined)[] = await Promise.all([
        ...namespaces.map((name) => admin.get(namespaceKey(name))),
        ...crds.map((crd) => admin.get(keyOf(crd))),
      ]);
      return left.every((object) => object === undefined);
    },
    { timeoutMs: 120_000 },
  );
}

function namespacesOf(manifests: readonly Manifest[]): readonly string[] {
  return [...new Set(manifests.map(({ metadata }) => metadata.namespace ?? ""))].filter(
    (name) => name !== "",
  );
}

function namespaceKey(name: string) {
  return { apiVersion: "v1", kind: "Namespace", name };
}
