import type { KubeClient } from "../../../access/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { ifDenied } from "../if-denied.ts";
import { anchorOf, deploymentsOf } from "../own-objects.ts";
import { readSpokeFacts, type SpokeFacts } from "../spoke-facts.ts";

/** What one cluster has of the installations on it. */
export interface SpokeObjects {
  readonly facts: SpokeFacts;
  /** Namespaces by name; null when there is none, undefined when it may not be read. */
  readonly namespaces: ReadonlyMap<string, KubeObject | null | undefined>;
  /** Pods of those namespaces; undefined when they may not be listed. */
  readonly pods: ReadonlyMap<string, readonly KubeObject[] | undefined>;
}

const namespaces = knownResource("v1", "Namespace");
const pods = knownResource("v1", "Pod");

/** Reads what the trees of the components on one cluster show. Throws what KubeClient throws. */
export async function readSpokeObjects(
  components: readonly Component[],
  { client, provider }: { readonly client: KubeClient; readonly provider: string | null },
  signal: AbortSignal,
): Promise<SpokeObjects> {
  const facts = await readSpokeFacts(client, provider, signal);
  const places = [...new Set(components.flatMap((component) => placesOf(component, facts)))];
  const [found, listed] = await Promise.all([
    Promise.all(
      places.map(async (name) => {
        const object = client.get({ resource: namespaces, name }, {}, signal);
        return [name, await object.then((one) => one ?? null).catch(ifDenied)] as const;
      }),
    ),
    Promise.all(
      places.map(async (namespace) => {
        const list = await client.list({ resource: pods, namespace }, {}, signal).catch(ifDenied);
        return [namespace, list?.items] as const;
      }),
    ),
  ]);
  return { facts, namespaces: new Map(found), pods: new Map(listed) };
}

/** Namespaces in which an installation has something, first that in which it should be. */
export function placesOf(component: Component, facts: SpokeFacts): readonly string[] {
  const home = anchorOf(component, facts)?.namespace;
  const others = deploymentsOf(component, facts).map(({ namespace }) => namespace);
  return [...new Set([home ?? others[0] ?? component.metadata.namespace, ...others])];
}
