import { setTimeout as delay } from "node:timers/promises";

import { ApiError } from "../../../../access/kube/api-error.ts";
import {
  type KubeClient,
  type ObjectRef,
  objectRefOf,
} from "../../../../access/kube/kube-client.ts";
import { type Right, rightTo } from "../../../../access/kube/missing-right.ts";
import type { Component } from "../../../../api/component.ts";
import { kindId } from "../../../../api/keys.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource, resourceFinder, type ResourceType } from "../../../../api/resources.ts";
import { inventoryTextOf } from "../../../../installation/anchor-object.ts";
import {
  anchorAnnotations,
  componentSelector,
  componentUidLabel,
  secondOwnerKey,
} from "../../../../installation/anchor.ts";
import { decodeInventory } from "../../../../installation/inventory.ts";
import { builtInReleaseKinds, customReleaseKinds } from "../../../../installation/kinds.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";
import { guardObjects } from "./guard-objects.ts";
import type { AnchorState } from "./migration-facts.ts";

/** Field manager of what a migration writes. */
export const fieldManager = "knfleet-migrate";

const options = { fieldManager, metadataOnly: true };
const atOnce = 8;
// The API server goes on to refuse for about a second after the bindings of a policy are gone.
const refusalMs = 5_000;

/** Takes the guard of a hub off a cluster. Throws the errors of KubeClient; another run takes up what is left. */
export async function removeGuard(
  client: KubeClient,
  hubId: string,
  signal: AbortSignal,
): Promise<void> {
  const found = await guardObjects(client, hubId, signal);
  const policies = found.filter(({ label }) => label === undefined);
  for (const { ref, uid } of policies) await client.remove(ref, { uid }, signal);
  if (policies.length > 0) await delay(refusalMs, undefined, { signal });
  for (const { ref, uid, resourceVersion, label } of found) {
    if (label === undefined) continue;
    await removeLabels({ ref, uid, resourceVersion, labels: [label] }, client, signal);
  }
}

interface Labelled {
  readonly ref: ObjectRef;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The first one is our mark. */
  readonly labels: readonly [string, ...string[]];
}

/** Takes labels off an object as it was read. Reads an object that has changed since once more, until it is gone or has no mark. */
async function removeLabels(
  { ref, uid, resourceVersion, labels }: Labelled,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const nulls = Object.fromEntries(labels.map((label) => [label, null]));
  for (let version = resourceVersion; ;) {
    try {
      const metadata = { uid, resourceVersion: version, labels: nulls };
      await client.patch(ref, { metadata }, options, signal);
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "Conflict") throw error;
    }
    const live = await client.get(ref, { metadataOnly: true }, signal);
    if (live?.metadata.uid !== uid || live.metadata.labels?.[labels[0]] === undefined) return;
    version = live.metadata.resourceVersion;
  }
}

/**
 * Takes the marks of knfleet off an installation, so that upstream's operator writes every object anew. The anchor goes last: as long as it is marked, another run
 * takes up what is left. Throws the errors of KubeClient.
 */
export async function giveBack(
  { component, anchor }: { readonly component: Component; readonly anchor: AnchorState },
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const { uid } = component.metadata;
  const ref = { resource: knownResource("v1", "ConfigMap"), ...anchor };
  const live = await client.get(ref, {}, signal);
  if (live?.metadata.annotations?.[anchorAnnotations.componentUid] !== uid) return;
  const labelSelector = componentSelector(uid);
  const namespaces = [component.metadata.namespace, anchor.namespace];
  await removeSecondOwner({ component, namespaces, labelSelector }, client, signal);
  await removeJobs(labelSelector, client, signal);
  const objects = await listMarked(live, { client, labelSelector }, signal);
  await mapLimited(objects, atOnce, async ({ object, resource }) => {
    const { uid: own, resourceVersion } = object.metadata;
    const marked = { ref: objectRefOf(object.metadata, resource), uid: own, resourceVersion };
    await removeLabels({ ...marked, labels: markLabels }, client, signal);
  });
  await unmarkAnchor(live, client, signal);
}

/** The rights that `giveBack` needs besides reading. Throws the errors of KubeClient. */
export async function rightsToGiveBack(
  { component, anchor }: Parameters<typeof giveBack>[0],
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly Right[]> {
  const ref = { resource: knownResource("v1", "ConfigMap"), ...anchor };
  const live = await client.get(ref, {}, signal);
  const { uid, namespace } = component.metadata;
  if (live?.metadata.annotations?.[anchorAnnotations.componentUid] !== uid) return [];
  const marked = { client, labelSelector: componentSelector(uid) };
  const owners = secondOwnerNames(component, [namespace, anchor.namespace]);
  const rights = (await listMarked(live, marked, signal)).map(({ object, resource }) => {
    const isOwner = resource.kind === "ClusterRole" && owners.has(object.metadata.name);
    const verb = isOwner || resource.kind === "Job" ? "delete" : "patch";
    const { namespace: place, name } = object.metadata;
    return { ...rightTo(verb, resource, place), name };
  });
  return [...rights, { ...rightTo("patch", ref.resource, anchor.namespace), name: ref.name }];
}

const markLabels = [componentUidLabel, "app.kubernetes.io/name"] as const;

interface MarkedKind {
  readonly resource: ResourceType;
  /** Whether the inventory has objects of the kind. */
  readonly isNamed: boolean;
}

/** The kinds of an installation: those of every release, and those of its inventory. */
function kindsOf(anchor: KubeObject): readonly MarkedKind[] {
  const entries = decodeInventory(inventoryTextOf(anchor))?.entries ?? [];
  const named = new Set(entries.map(kindId));
  // Releases last: they know the plural of their custom kinds.
  const all = [...entries.map(resourceFinder([])), ...customReleaseKinds, ...builtInReleaseKinds];
  const kinds = new Map(all.map((resource) => [kindId(resource), resource]));
  return [...kinds].map(([id, resource]) => ({ resource, isNamed: named.has(id) }));
}

interface MarkedObject {
  readonly object: KubeObject;
  readonly resource: ResourceType;
}

async function listMarked(
  anchor: KubeObject,
  marked: Parameters<typeof listKind>[1],
  signal: AbortSignal,
): Promise<readonly MarkedObject[]> {
  const lists = kindsOf(anchor).map((kind) => listKind(kind, marked, signal));
  return (await Promise.all(lists)).flat();
}

async function listKind(
  { resource, isNamed }: MarkedKind,
  { client, labelSelector }: { readonly client: KubeClient; readonly labelSelector: string },
  signal: AbortSignal,
): Promise<readonly MarkedObject[]> {
  try {
    const { items } = await client.list(
      { resource, labelSelector },
      { metadataOnly: true },
      signal,
    );
    return items.map((object) => ({ object, resource }));
  } catch (error) {
    // A kind that is not served has no objects. A right that is missing matters only where something was installed.
    const status = error instanceof ApiError ? error.status : undefined;
    if (status === 404 || (status === 403 && !isNamed)) return [];
    throw error;
  }
}

interface SecondOwner {
  readonly component: Component;
  readonly namespaces: readonly string[];
  readonly labelSelector: string;
}

/** It goes before the labels, by which it is known: with it the objects would outlive their anchor. */
async function removeSecondOwner(
  { component, namespaces, labelSelector }: SecondOwner,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const resource = knownResource("rbac.authorization.k8s.io/v1", "ClusterRole");
  const { items } = await client.list({ resource, labelSelector }, { metadataOnly: true }, signal);
  const names = secondOwnerNames(component, namespaces);
  for (const { metadata } of items.filter((item) => names.has(item.metadata.name))) {
    await client.remove({ resource, name: metadata.name }, { uid: metadata.uid }, signal);
  }
}

function secondOwnerNames(
  component: Component,
  namespaces: readonly string[],
): ReadonlySet<string> {
  const { kind } = component;
  const keys = namespaces.map((namespace) => {
    const metadata = { ...component.metadata, namespace };
    return secondOwnerKey(
      kind === "KnativeServing" ? { ...component, metadata } : { ...component, metadata },
    );
  });
  return new Set(keys.map(({ name }) => name));
}

/** Upstream's operator would try to change them, which no Job allows; it makes them anew. */
async function removeJobs(
  labelSelector: string,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const resource = knownResource("batch/v1", "Job");
  const { items } = await client.list({ resource, labelSelector }, { metadataOnly: true }, signal);
  for (const { metadata } of items) {
    const { uid } = metadata;
    const removal = { uid, propagationPolicy: "Background" } as const;
    await client.remove(objectRefOf(metadata, resource), removal, signal);
  }
}

async function unmarkAnchor(
  live: KubeObject,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const { hubId, componentUid, inventory } = anchorAnnotations;
  const annotations = { [hubId]: null, [componentUid]: null, [inventory]: null };
  const { uid, resourceVersion } = live.metadata;
  const metadata = { uid, resourceVersion, annotations };
  // The data of an immutable ConfigMap stay for ever, and nobody reads them without the annotations.
  const patch = live["immutable"] === true ? { metadata } : { metadata, data: null };
  const ref = objectRefOf(live.metadata, knownResource("v1", "ConfigMap"));
  await client.patch(ref, patch, options, signal);
}
