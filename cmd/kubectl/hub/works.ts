import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import {
  agentWorkName,
  componentWorkName,
  type ManagedCluster,
  managedClusterApiVersion,
  managedClusterOf,
  type ManifestWork,
  workApiVersion,
} from "../../../api/delivery.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { PullFacts } from "../../../controller/pull/judge.ts";

/** Reads what the hub holds of a component that is pulled, with three requests. Throws the errors of KubeClient. */
export async function readWorks(
  component: Component,
  hub: Pick<KubeClient, "get">,
  signal: AbortSignal,
): Promise<PullFacts> {
  const cluster = managedClusterOf(component) ?? "";
  const resource = knownResource(workApiVersion, "ManifestWork");
  const work = async (name: string): Promise<ManifestWork | undefined> => {
    const found = await hub.get({ resource, namespace: cluster, name }, {}, signal);
    return found !== undefined && isWork(found) ? found : undefined;
  };
  const kind = knownResource(managedClusterApiVersion, "ManagedCluster");
  const reading = hub.get({ resource: kind, name: cluster }, {}, signal);
  const [managed, agent, own]: [ManagedCluster | undefined, ...(ManifestWork | undefined)[]] =
    await Promise.all([reading, work(agentWorkName), work(componentWorkName(component))]);
  const { generation = 0 } = component.metadata;
  return { cluster, managed, agent, work: own, generation };
}

function isWork(object: KubeObject): object is ManifestWork {
  return object.metadata.namespace !== undefined;
}
