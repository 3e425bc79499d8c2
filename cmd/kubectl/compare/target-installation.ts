import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import { managedClusterOf, pulledAnnotations } from "../../../api/delivery.ts";
import type { OwnerReference } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { type Anchor, readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import { asComponent } from "../../../controller/component-identity.ts";
import { fieldManagerOf, findAnchorNamespaces } from "../../../controller/reconcile/resolve.ts";
import type { Target } from "../../../controller/target/target.ts";
import { anchorKey } from "../../../installation/anchor-object.ts";
import {
  anchorAnnotations,
  componentUidLabel,
  secondOwnerKey,
} from "../../../installation/anchor.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { ifDenied } from "../spokes/spoke-reading.ts";
import type { NamespaceOf } from "./rendering-options.ts";

/** An installation with its target, as the controller sees it. */
export interface TargetInstallation {
  readonly component: Component;
  readonly target: Target;
  /** Undefined: nothing is installed. */
  readonly anchor: Anchor | undefined;
  /** Whether knfleet made the installation. False for one of the upstream operator. */
  readonly isOurs: boolean;
  /** The second owner, if there is one. */
  readonly secondOwner: OwnerReference | undefined;
}

/** How to read an installation on its target. */
export interface TargetAccess {
  readonly client: KubeClient;
  /** Uid of `kube-system` on the hub. Undefined without the right to read it: then that of the anchor counts. */
  readonly hubId: string | undefined;
  readonly namespaceOf: NamespaceOf;
}

/**
 * Reads an installation on its target. Throws FleetError `AnchorConflict` for the anchor of another component, and the errors of KubeClient.
 */
export async function readTargetInstallation(
  component: Component,
  { client, hubId, namespaceOf }: TargetAccess,
  signal: AbortSignal,
): Promise<TargetInstallation> {
  const pulled = await readPulled(component, { client, namespaceOf }, signal);
  if (pulled !== undefined) return pulled;
  const { clusterProfileRef: profile } = component.spec ?? {};
  const found = await findAnchorNamespaces(component, { client, hubId }, signal);
  const namespace = await namespaceOf(component, found);
  const id = hubId ?? (await readHubIdOfAnchor(component, { client, namespace }, signal)) ?? "";
  const target: Target = {
    client,
    namespace,
    hubId: id,
    fieldManager: fieldManagerOf(id),
    ...(profile === undefined ? {} : { profile }),
  };
  const [anchor, secondOwner] = await Promise.all([
    readAnchor(component, target, signal),
    readSecondOwner(component, client, signal),
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

/** The installation of a component that is pulled, as the controller on its spoke sees it: without a ClusterProfile, for a component of the spoke. Undefined for any other. */
async function readPulled(
  component: Component,
  { client, namespaceOf }: Pick<TargetAccess, "client" | "namespaceOf">,
  signal: AbortSignal,
): Promise<TargetInstallation | undefined> {
  if (managedClusterOf(component) === undefined) return undefined;
  const namespace = await namespaceOf(component, []);
  const annotations = await readAnchorAnnotations(component, { client, namespace }, signal);
  const { [anchorAnnotations.componentUid]: uid, [anchorAnnotations.hubId]: hubId } = annotations;
  const isSame = annotations[pulledAnnotations.hubComponentUid] === component.metadata.uid;
  if (!isSame || uid === undefined || hubId === undefined) return undefined;
  const { clusterProfileRef: _, ...spec } = component.spec ?? {};
  const metadata = { ...component.metadata, namespace, uid, annotations };
  const local = asComponent({ ...component, metadata, spec });
  if (local === undefined) return undefined;
  const target = { client, namespace, hubId, fieldManager: fieldManagerOf(hubId) };
  const anchor = await readAnchor(local, target, signal);
  return { component: local, target, anchor, isOurs: true, secondOwner: undefined };
}

async function readHubIdOfAnchor(
  component: Component,
  { client, namespace }: Pick<Target, "client" | "namespace">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const annotations = await readAnchorAnnotations(component, { client, namespace }, signal);
  return annotations[anchorAnnotations.hubId];
}

async function readAnchorAnnotations(
  component: Component,
  { client, namespace }: Pick<Target, "client" | "namespace">,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { name } = anchorKey({ component, target: { namespace, hubId: "" } });
  const ref = { resource: knownResource("v1", "ConfigMap"), namespace, name };
  const anchor = await client.get(ref, { metadataOnly: true }, signal);
  return anchor?.metadata.annotations ?? {};
}

/** Sets neither `controller` nor `blockOwnerDeletion`, as the controller does. */
async function readSecondOwner(
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

/** Reads the uid of the hub's `kube-system`, which identifies the hub. Undefined without the right to read it. */
export async function readHubId(
  { hub, hubTimeoutMs }: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = { resource: knownResource("v1", "Namespace"), name: "kube-system" };
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const found = await hub.get(ref, { metadataOnly: true }, deadline).catch(ifDenied);
  return found?.metadata.uid;
}
