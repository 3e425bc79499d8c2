import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { recordAt } from "../../../../api/fields.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { deploymentsOf } from "../../hub/own-objects.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { clusterIdOf } from "../../spokes/read-clusters.ts";
import { readSpokeFacts } from "../../spokes/spoke-facts.ts";
import { findControllers } from "../diagnose/find-controller.ts";
import { isAbout, type LogSource } from "./log-line.ts";

const podResource = knownResource("v1", "Pod");

/**
 * The containers of who works on the components on the hub: knfleet's controller and the upstream operator; of their lines those about the components.
 * Undefined when Deployments may not be listed. Throws what KubeClient throws.
 */
export async function controllerSources(
  components: readonly Component[],
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly LogSource[] | undefined> {
  const { deployments } = await findControllers(hub, signal);
  if (deployments === undefined) return undefined;
  const tests = components.map(isAbout);
  const isWanted = (line: string): boolean => tests.some((test) => test(line));
  const sources = await sourcesOf(deployments, hub, signal);
  return sources.map((source) => ({ ...source, isWanted }));
}

/** The containers of the installations' Deployments on one cluster, by its id. Throws what KubeClient throws. */
export async function spokeSources(
  components: readonly Component[],
  { id, client }: { readonly id: string; readonly client: KubeClient },
  signal: AbortSignal,
): Promise<readonly LogSource[]> {
  const own = components.filter((component) => clusterIdOf(component) === id);
  const facts = await readSpokeFacts(client, null, signal);
  const deployments = own.flatMap((component) => deploymentsOf(component, facts));
  return await sourcesOf(deployments, client, signal);
}

async function sourcesOf(
  deployments: readonly { readonly namespace: string; readonly name: string }[],
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly LogSource[]> {
  const namespaces = [...new Set(deployments.map(({ namespace }) => namespace))];
  const lists = await Promise.all(
    namespaces.map((namespace) => client.list({ resource: podResource, namespace }, {}, signal)),
  );
  return lists
    .flatMap(({ items }) => items)
    .filter((pod) => deployments.some((deployment) => isOf(pod, deployment)))
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    .flatMap(containersOf);
}

/** A pod's owner is the ReplicaSet of its Deployment and of its own template. */
function isOf(
  { metadata }: KubeObject,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): boolean {
  const { ownerReferences = [], labels = {} } = metadata;
  const wanted = `${name}-${labels["pod-template-hash"] ?? ""}`;
  const isOwned = ownerReferences.some((owner) => owner.name === wanted);
  return metadata.namespace === namespace && isOwned;
}

function containersOf(pod: KubeObject): readonly LogSource[] {
  const { namespace = "", name } = pod.metadata;
  return itemsAt(pod, "spec", "containers").flatMap((container) => {
    const found = stringAt(recordAt(container), "name");
    return found === null ? [] : [{ namespace, pod: name, container: found }];
  });
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
