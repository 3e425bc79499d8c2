import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import { targetId } from "../../../../api/keys.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { anchorNameOf } from "../../../../installation/anchor.ts";
import { causeOfPods } from "../../../../installation/pod-cause.ts";
import type { WorkloadState } from "../../../../installation/readiness.ts";
import type { NamespaceOf } from "../../compare/rendering-options.ts";
import { knfOf } from "../../output/knf-of.ts";
import { codedReason } from "../../output/names.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { anchorOf, isOf, isRemote, missingWorkloads, workloadsOf } from "../../spokes/live-view.ts";
import { readSpokeFacts, type SpokeFacts } from "../../spokes/spoke-facts.ts";
import { ifDenied, type Reading, type UnreadSpoke } from "../../spokes/spoke-reading.ts";
import type { WorkloadFact } from "../../spokes/workload-fact.ts";
import type { TreeNode } from "./tree-node.ts";

/** The cluster of a component, with what is installed there. A cluster that could not be read has the reason, and no children. */
export function clusterNode(
  component: Component,
  { reading, server }: { readonly reading: Reading<SpokeObjects>; readonly server: string },
): TreeNode {
  const cluster = targetId(component);
  const node = { kind: "Cluster", namespace: null, name: server, cluster };
  if (reading.kind === "unread") {
    const state = reading.state === "Unknown" ? "UNKNOWN" : "FAIL";
    return { ...node, state, message: unreadText(reading), children: [] };
  }
  const message = reading.facts.facts.kubernetesVersion;
  return { ...node, state: "OK", message, children: installedNodes(component, reading.facts) };
}

/** Why a cluster was not read. */
export function unreadText(
  { reason, message }: UnreadSpoke,
  { isHub = false }: { readonly isHub?: boolean } = {},
): string {
  return `${codedReason({ reason, code: knfOf(reason, { isHub, message }) })}: ${message}`;
}

/** The namespaces of an installation, with the anchor, the workloads and the pods in them. */
export function installedNodes(component: Component, objects: SpokeObjects): readonly TreeNode[] {
  const [home, ...others] = objects.places.get(component.metadata.uid) ?? [];
  if (home === undefined) return [];
  const cluster = isRemote(component) ? targetId(component) : null;
  const nodesIn = (namespace: string) => workloadNodes(component, { objects, namespace, cluster });
  const below = isRemote(component)
    ? [anchorNode(component, { objects, namespace: home, below: nodesIn(home) })]
    : nodesIn(home);
  return [
    namespaceNode(home, { objects, cluster, children: below }),
    ...others.map((name) => namespaceNode(name, { objects, cluster, children: nodesIn(name) })),
  ];
}

function namespaceNode(
  name: string,
  {
    objects: { namespaces },
    cluster,
    children,
  }: { readonly objects: SpokeObjects } & Pick<TreeNode, "cluster" | "children">,
): TreeNode {
  const object = namespaces.get(name);
  const node = { kind: "Namespace", namespace: null, name, cluster, children };
  if (object === undefined) return { ...node, state: "UNKNOWN", message: "may not be read" };
  if (object === null) return { ...node, state: "FAIL", message: "does not exist" };
  const phase = stringAt(object, "status", "phase");
  return { ...node, state: phase === "Terminating" ? "WARN" : "OK", message: phase };
}

function anchorNode(
  component: Component,
  {
    objects: { facts },
    namespace,
    below,
  }: {
    readonly objects: SpokeObjects;
    readonly namespace: string;
    readonly below: readonly TreeNode[];
  },
): TreeNode {
  const { kind, metadata } = component;
  const node = {
    kind: "ConfigMap",
    namespace,
    name: anchorNameOf({ kind, name: metadata.name }),
    cluster: targetId(component),
    children: below,
  };
  if (facts.anchors === undefined) {
    return { ...node, state: "UNKNOWN", message: "anchor; ConfigMaps may not be listed" };
  }
  return anchorOf(component, facts) === undefined
    ? { ...node, state: "FAIL", message: "the anchor is missing" }
    : { ...node, state: "OK", message: "anchor" };
}

function workloadNodes(
  component: Component,
  {
    objects,
    namespace,
    cluster,
  }: {
    readonly objects: SpokeObjects;
    readonly namespace: string;
    readonly cluster: string | null;
  },
): readonly TreeNode[] {
  const { facts } = objects;
  const here = workloadsOf(component, facts).filter((one) => one.namespace === namespace);
  const pods = objects.pods.get(namespace) ?? [];
  const nodes = here.map((fact) => ({
    ...workloadNode(fact),
    cluster,
    children: pods.filter((pod) => isOf(pod, fact)).map((pod) => podNode(pod, cluster)),
  }));
  const missing = missingWorkloads(component, facts)
    .filter((key) => key.namespace === namespace)
    .map((key): TreeNode => {
      const message = "of the installation's inventory, but does not exist";
      return { ...key, cluster, state: "FAIL", message, children: [] };
    });
  return [...missing, ...nodes].toSorted(byText(({ name }) => name));
}

const workloadStates = {
  available: "OK",
  scaledToZero: "WARN",
  rollingOut: "WARN",
  notAvailable: "FAIL",
} as const satisfies Record<WorkloadState, TreeNode["state"]>;

function workloadNode(fact: WorkloadFact): Omit<TreeNode, "cluster" | "children"> {
  const { kind, namespace, name, state, progress, availableReplicas, desired, message } = fact;
  const count = `${availableReplicas}/${desired} available`;
  const why = state === "notAvailable" ? (message ?? progress) : progress;
  return {
    kind,
    namespace,
    name,
    state: workloadStates[state],
    message: why === "" ? count : `${count}: ${why}`,
  };
}

function podNode(pod: KubeObject, cluster: string | null): TreeNode {
  const { namespace = null, name, deletionTimestamp } = pod.metadata;
  const phase = stringAt(pod, "status", "phase") ?? "Unknown";
  const isReady = itemsAt(pod, "status", "conditions").some(
    (condition) =>
      stringAt(condition, "type") === "Ready" && stringAt(condition, "status") === "True",
  );
  const node = { kind: "Pod", namespace, name, cluster, children: [] };
  if (deletionTimestamp !== undefined) return { ...node, state: "WARN", message: "Terminating" };
  if (isReady || phase === "Succeeded") return { ...node, state: "OK", message: phase };
  const cause = causeOfPods([pod]);
  return { ...node, state: "FAIL", message: cause === undefined ? phase : `${phase}: ${cause}` };
}

/** Objects of the installations on one cluster. */
export interface SpokeObjects {
  readonly facts: SpokeFacts;
  /** Namespaces with objects of an installation, by uid of the component; the namespace where it should be is first. */
  readonly places: ReadonlyMap<string, readonly string[]>;
  /** Namespaces by name; null for one that does not exist, undefined for one that may not be read. */
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

/** Reads the objects that the trees of one cluster's components show. Throws what KubeClient throws. */
export async function readSpokeObjects(
  components: readonly Component[],
  { client, provider, namespaceOf }: SpokeAccess,
  signal: AbortSignal,
): Promise<SpokeObjects> {
  const facts = await readSpokeFacts(client, { provider }, signal);
  const places = new Map<string, readonly string[]>();
  for (const one of components) {
    places.set(one.metadata.uid, await findPlaces(one, facts, namespaceOf));
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

async function findPlaces(
  component: Component,
  facts: SpokeFacts,
  namespaceOf: NamespaceOf,
): Promise<readonly string[]> {
  const anchor = anchorOf(component, facts);
  const used = workloadsOf(component, facts).map(({ namespace }) => namespace);
  const home = anchor?.namespace ?? used[0] ?? (await namespaceOf(component));
  return [...new Set([home, ...used])];
}
