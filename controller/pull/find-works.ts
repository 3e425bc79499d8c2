import type { ObjectRef } from "../../access/kube/kube-client.ts";
import type { Component } from "../../api/component.ts";
import {
  agentWorkName,
  componentWorkName,
  managedClusterApiVersion,
  type ManifestWork,
  pulledAnnotations,
  workApiVersion,
} from "../../api/delivery.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import type { PullFacts } from "./judge.ts";

/** Reads an object of the hub; undefined when there is none. */
type Get = (ref: ObjectRef) => Promise<KubeObject | undefined>;

/** What the hub holds of a component that a cluster pulls: three requests. A work that does not carry the uid of the component is none of its own. Rejects as `get` does. */
export async function findWorks(
  component: Component,
  cluster: string,
  get: Get,
): Promise<Pick<PullFacts, "managed" | "agent" | "work">> {
  const work = async (name: string): Promise<ManifestWork | undefined> =>
    asWork(await get(workRef(cluster, name)));
  const [managed, agent, own] = await Promise.all([
    get(managedClusterRef(cluster)),
    work(agentWorkName),
    work(componentWorkName(component)),
  ]);
  return { managed, agent, work: own !== undefined && isWorkOf(component, own) ? own : undefined };
}

/** Whether a work carries the uid of a component, in its label or, where somebody took that away, in the copy that it brings. */
export function isWorkOf(
  { metadata: { uid } }: Component,
  { metadata, spec }: ManifestWork,
): boolean {
  if (metadata.labels?.[componentUidLabel] === uid) return true;
  const copies = spec?.workload?.manifests ?? [];
  return copies.some(
    (copy) => copy.metadata.annotations?.[pulledAnnotations.hubComponentUid] === uid,
  );
}

/** Names a ManagedCluster. */
export function managedClusterRef(name: string): ObjectRef {
  return { resource: knownResource(managedClusterApiVersion, "ManagedCluster"), name };
}

/** Names a work. */
export function workRef(cluster: string, name: string): ObjectRef {
  return { resource: knownResource(workApiVersion, "ManifestWork"), namespace: cluster, name };
}

/** The work that an object is; undefined for another object, and without one. */
export function asWork(object: KubeObject | undefined): ManifestWork | undefined {
  return object !== undefined && isWork(object) ? object : undefined;
}

/** Narrows an object to a ManifestWork. */
export function isWork(object: KubeObject): object is ManifestWork {
  return object.kind === "ManifestWork" && object.metadata.namespace !== undefined;
}
