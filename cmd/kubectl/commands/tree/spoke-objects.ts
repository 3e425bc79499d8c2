import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { anchorOf, deploymentsOf } from "../../hub/own-objects.ts";
import { ifDenied } from "../../if-denied.ts";
import { readSpokeFacts, type SpokeFacts } from "../../spokes/spoke-facts.ts";
import type { NamespaceOf } from "../../spokes/spoke-namespace.ts";

/** What one cluster has of the installations on it. */
export interface SpokeObjects {
  readonly facts: SpokeFacts;
  /** By uid of the component: namespaces in which an installation has something, first that in which it should be. */
  readonly places: ReadonlyMap<string, readonly string[]>;
  /** Namespaces by name; null when there is none, undefined when it may not be read. */
  readonly namespaces: ReadonlyMap<string, KubeObject | null | undefined>;
  /** Pods of those namespaces; undefined when they may not be listed. */
  readonly pods: ReadonlyMap<string, readonly KubeObject[] | undefined>;
}

interface SpokeAccess {
  readonly client: KubeClient;
  readonly provider: string | null;
  readonly namespaceOf: NamespaceOf;
}

const namespaces = knownResource("v1", "Namespace");
const pods = knownResource("v1", "Pod");

/** Reads what the trees of the components on one cluster show. Throws what KubeClient throws. */
export async function readSpokeObjects(
  components: readonly Component[],
  { client, provider, namespaceOf }: SpokeAccess,
  signal: AbortSignal,
): Promise<SpokeObjects> {
  const facts = await readSpokeFacts(client, provider, signal);
  const places = new Map<string, readonly string[]>();
  for (const one of components) {
    places.set(one.metadata.uid, await placesOf(one, facts, namespaceOf));
  }
  const all = [...new Set([...places.values()].flat())];
  const [found, listed] = await Promise.all([
    Promise.all(
      all.map(async (name) => {
        const object = client.get({ resource: namespaces, name }, {}, signal);
        return [name, await object.then((one) => one ?? null).catch(ifDenied)] as const;
      }),
    ),
    Promise.all(
      all.map(async (namespace) => {
        const list = await client.list({ resource: pods, namespace }, {}, signal).catch(ifDenied);
        return [namespace, list?.items] as const;
      }),
    ),
  ]);
  return { facts, places, namespaces: new Map(found), pods: new Map(listed) };
}

async function placesOf(
  component: Component,
  facts: SpokeFacts,
  namespaceOf: NamespaceOf,
): Promise<readonly string[]> {
  const anchor = anchorOf(component, facts);
  const deployments = deploymentsOf(component, facts).map(({ namespace }) => namespace);
  const home = anchor?.namespace ?? deployments[0] ?? (await namespaceOf(component));
  return [...new Set([home, ...deployments])];
}
