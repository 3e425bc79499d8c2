import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { clusterObjects } from "../support/cluster-objects.ts";
import { isVolatile } from "../support/spoke-dump.ts";

/** Identities of what a cluster holds, of all kinds that do not change by themselves. */
export async function contentsOf(cluster: Cluster): Promise<ReadonlySet<string>> {
  return new Set((await lasting(cluster)).map((object) => objectId(keyOf(object))));
}

/** Makes a cluster as it was when its contents were taken, CRDs and namespaces included, and waits until that is so. */
export async function cleanUp(cluster: Cluster, before: ReadonlySet<string>): Promise<void> {
  const extra = (await lasting(cluster)).filter((object) => !before.has(objectId(keyOf(object))));
  // Webhooks and policies can refuse the deletion of others; a namespace is not emptied while kinds are being forgotten.
  const steps = [
    ({ kind }: KubeObject) => refuses(kind),
    (object: KubeObject) => object.metadata.namespace === undefined && !lastKinds(object),
    ({ kind }: KubeObject) => kind === "Namespace",
    ({ kind }: KubeObject) => kind === "CustomResourceDefinition",
  ];
  for (const isOfStep of steps) await removeAll(cluster, extra.filter(isOfStep));
}

async function lasting(cluster: Cluster): Promise<readonly KubeObject[]> {
  return (await clusterObjects(cluster)).filter((object) => !isVolatile(object));
}

function lastKinds({ kind }: KubeObject): boolean {
  return kind === "Namespace" || kind === "CustomResourceDefinition" || refuses(kind);
}

function refuses(kind: string): boolean {
  return kind.endsWith("WebhookConfiguration") || kind.startsWith("ValidatingAdmissionPolicy");
}

async function removeAll({ admin, name }: Cluster, objects: readonly KubeObject[]): Promise<void> {
  let left = objects.map(keyOf);
  let isAsked = false;
  await waitFor(
    `${name} to be clean`,
    async () => {
      // A policy that is gone is obeyed for a moment longer.
      if (!isAsked) await Promise.all(left.map((key) => admin.remove(key)));
      isAsked = true;
      const found = await Promise.all(left.map((key) => admin.get(key)));
      left = left.filter((_, index) => found[index] !== undefined);
      return left.length === 0;
    },
    { timeoutMs: 120_000 },
  );
}
