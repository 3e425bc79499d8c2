import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import type { OwnerReference } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { type Anchor, readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import type { Target } from "../../../controller/apply/target.ts";
import { fieldManagerOf, findAnchorNamespaces } from "../../../controller/reconcile/resolve.ts";
import { anchorKey } from "../../../installation/anchor-object.ts";
import {
  anchorAnnotations,
  componentUidLabel,
  secondOwnerKey,
} from "../../../installation/anchor.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { ifDenied } from "../spokes/spoke-reading.ts";
import type { NamespaceOf } from "./rendering-options.ts";

/** Where an installation is or would be, as its controller sees it. */
export interface Place {
  readonly component: Component;
  readonly target: Target;
  /** Undefined: nothing was installed. */
  readonly anchor: Anchor | undefined;
  /** Whether knfleet installed it; false for what the upstream operator did. */
  readonly isOurs: boolean;
  /** The second owner, where there is one. */
  readonly secondOwner: OwnerReference | undefined;
}

/** A cluster and whose it is. */
export interface PlaceAccess {
  readonly client: KubeClient;
  /** Uid of `kube-system` on the hub; undefined when it may not be read, and then the anchor is believed. */
  readonly hubId: string | undefined;
  readonly namespaceOf: NamespaceOf;
}

/**
 * Reads what there is of an installation on its cluster. Throws FleetError `AnchorConflict` when the anchor is another's, and what
 * KubeClient throws.
 */
export async function readPlace(
  component: Component,
  { client, hubId, namespaceOf }: PlaceAccess,
  signal: AbortSignal,
): Promise<Place> {
  const { clusterProfileRef: profile } = component.spec ?? {};
  const found = await findAnchorNamespaces(component, { client, hubId }, signal);
  const namespace = await namespaceOf(component, found);
  const id = hubId ?? (await hubIdOfAnchor(component, { client, namespace }, signal)) ?? "";
  const target: Target = {
    client,
    namespace,
    hubId: id,
    fieldManager: fieldManagerOf(id),
    ...(profile === undefined ? {} : { profile }),
  };
  const [anchor, secondOwner] = await Promise.all([
    readAnchor(component, target, signal),
    twinOf(component, client, signal),
  ]);
  const annotations = anchor?.object.metadata.annotations ?? {};
  const isMarked = annotations[anchorAnnotations.hubId] !== undefined;
  return {
    component,
    target,
    anchor,
    isOurs: isMarked || anchor?.inventory !== undefined,
    secondOwner,
  };
}

async function hubIdOfAnchor(
  component: Component,
  { client, namespace }: Pick<Target, "client" | "namespace">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name } = anchorKey({ component, target: { namespace, hubId: "" } });
  const ref = { resource: knownResource("v1", "ConfigMap"), namespace, name };
  const anchor = await client.get(ref, { metadataOnly: true }, signal);
  return anchor?.metadata.annotations?.[anchorAnnotations.hubId];
}

/** Neither controller nor blocking, as the engine writes it. */
async function twinOf(
  component: Component,
  client: KubeClient,
  signal: AbortSignal,
): Promise<OwnerReference | undefined> {
  const { apiVersion, kind, name } = secondOwnerKey(component);
  const ref = { resource: knownResource(apiVersion, kind), name };
  const found = await client.get(ref, { metadataOnly: true }, signal).catch(ifDenied);
  const uid = found?.metadata.labels?.[componentUidLabel];
  if (found === undefined || uid !== component.metadata.uid) return undefined;
  return { apiVersion, kind, name, uid: found.metadata.uid };
}

/** Uid of the hub's `kube-system`, which tells this hub from others; undefined when it may not be read. */
export async function hubIdOf(
  { hub, hubTimeoutMs }: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = { resource: knownResource("v1", "Namespace"), name: "kube-system" };
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(hubTimeoutMs)]);
  const found = await hub.get(ref, { metadataOnly: true }, deadline).catch(ifDenied);
  return found?.metadata.uid;
}
