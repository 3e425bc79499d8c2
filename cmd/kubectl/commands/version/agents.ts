import { ifServed } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { agentWorkName, managedClusterOf, workApiVersion } from "../../../../api/delivery.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { newestFirst } from "../../../../render/release/version.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { ifDenied } from "../../spokes/spoke-reading.ts";
import { tagOf } from "../../spokes/workload-fact.ts";

/** The controller that works bring to spokes that pull, as the hub wants it, and how many spokes get this one. */
export interface AgentVersion {
  readonly version: string | null;
  readonly image: string;
  readonly clusters: number;
}

/** The agents of pulled components, newest first. Null without the right to list works; without pulled components nothing is asked. */
export async function readAgents(
  components: readonly Component[],
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly AgentVersion[] | null> {
  const clusters = new Set(components.flatMap((one) => managedClusterOf(one) ?? []));
  if (clusters.size === 0) return [];
  const resource = knownResource(workApiVersion, "ManifestWork");
  const fieldSelector = `metadata.name=${agentWorkName}`;
  const listed = await ifServed(hub.list({ resource, fieldSelector }, {}, signal))
    .then((list) => list?.items ?? [])
    .catch(ifDenied);
  if (listed === undefined) return null;
  const works = listed.filter(({ metadata }) => clusters.has(metadata.namespace ?? ""));
  const byImage = Map.groupBy(works, imageIn);
  return [...byImage]
    .map(([image, all]) => ({ version: tagOf(image), image, clusters: all.length }))
    .toSorted((a, b) => newestFirst(a.version ?? "", b.version ?? ""));
}

/** The image of the controller that a work brings; empty for a work of another origin. */
function imageIn(work: KubeObject): string {
  const [image] = itemsAt(work, "spec", "workload", "manifests").flatMap((manifest) =>
    itemsAt(manifest, "spec", "template", "spec", "containers").flatMap(
      (container) => stringAt(container, "image") ?? [],
    ),
  );
  return image ?? "";
}
