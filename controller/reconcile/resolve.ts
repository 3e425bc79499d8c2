import { unlessDenied } from "../../access/kube/api-error.ts";
import { delay } from "../../access/time/clock.ts";
import { Follower } from "../../access/time/deadline.ts";
import type { Component } from "../../api/component.ts";
import { reasons } from "../../api/reasons.ts";
import { strangenessOf } from "../../installation/anchor-object.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import {
  anchoredNamespaces,
  installationNamespace,
  possibleNamespaces,
} from "../../installation/installation-namespace.ts";
import { anchorRef } from "../apply/anchor/anchor.ts";
import { clusterNameOf } from "../component-identity.ts";
import { type ConnectionHistory, fleetErrorOf, asLoss, type Steps } from "../status/outcome.ts";
import type { TargetConnection } from "../target/target-connection.ts";
import type { Target } from "../target/target.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";

/** The target of a component and the connection behind it. */
export interface Resolved {
  readonly target: Target;
  readonly connection: TargetConnection;
}

const fieldManagerPrefix = "knfleet-";
// The connection to the hub lasts as long as the process.
const noEnd = new AbortController().signal;

/** The field manager of all objects that one hub applies. */
export function fieldManagerOf(hubId: string): string {
  return `${fieldManagerPrefix}${hubId.slice(0, 8)}`;
}

type ResolveDeps = Pick<
  ReconcileDeps,
  "hubAsTarget" | "hubId" | "connections" | "spokes" | "spokeNamespace" | "clusterClaims"
>;

/**
 * Connects to the cluster of a component, which is that of its ClusterProfile or the hub, and finds the namespace of the installation there. Throws FleetError with a reason of
 * `TargetClusterResolved`, `DuplicateComponent` when the cluster belongs to another ClusterProfile, or the error of the connection.
 */
export async function resolveTarget(
  { component, installation }: Subject,
  { hubAsTarget, hubId, connections, spokes, spokeNamespace: mode, clusterClaims }: ResolveDeps,
  signal: AbortSignal,
): Promise<Resolved> {
  const ref = component.spec?.clusterProfileRef;
  const isRemoval = component.metadata.deletionTimestamp !== undefined;
  const fieldManager = fieldManagerOf(hubId);
  const connection =
    ref === undefined
      ? connections.over({ client: hubAsTarget, signal: noEnd }, { fieldManager, clusterId: hubId })
      : connections.over(await spokes.acquire({ ...ref, isRemoval }, signal), { fieldManager });
  const { client } = connection;
  const cluster = { client, ...(ref && { profile: ref }), fieldManager, hubId };
  using follower = new Follower(signal, connection.signal);
  const either = follower.signal;
  if (ref !== undefined) await clusterClaims?.claim(ref, connection, either);
  const namespace = await installation.namespaceOn(client, async () =>
    installationNamespace(component, mode, await findAnchorNamespaces(component, cluster, either)),
  );
  return { target: { ...cluster, namespace }, connection };
}

/** A cluster and the hub that manages it. Without a hubId the anchors of all hubs count. */
interface AnchorHolder extends Pick<Target, "client"> {
  readonly hubId: string | undefined;
}

/** The namespaces of a cluster that have an anchor of the component, for `installationNamespace`. Sends no request when only one namespace is possible; none when the cluster denies the answer. */
export async function findAnchorNamespaces(
  component: Component,
  { client, hubId }: AnchorHolder,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const namespaces = possibleNamespaces(component);
  if (namespaces.length === 1) return [];
  const anchors = await Promise.all(
    namespaces.map(async (namespace) => {
      const ref = anchorRef({ component, target: { namespace, hubId: "" } });
      const anchor = await unlessDenied(client.get(ref, { metadataOnly: true }, signal));
      if (anchor === undefined) return [];
      const { annotations = {} } = anchor.metadata;
      const id = hubId ?? annotations[anchorAnnotations.hubId] ?? "";
      const target = { namespace, hubId: id, fieldManager: fieldManagerOf(id) };
      if (strangenessOf(anchor, { component, target }) !== undefined) return [];
      return [{ namespace, componentUid: annotations[anchorAnnotations.componentUid] ?? null }];
    }),
  );
  return anchoredNamespaces(anchors.flat());
}

/** Whether the cluster of a component was reached before; see `asLoss`. */
export function connectionHistoryOf(
  { component, installation }: Subject,
  { spokes }: Pick<ReconcileDeps, "spokes">,
): ConnectionHistory {
  const ref = component.spec?.clusterProfileRef;
  const isLost = ref !== undefined && spokes.state(ref)?.kind === "lost";
  const { wasReached } = installation;
  return { isLost, wasReached, status: component.status };
}

/** The state of the connection right now, without waiting for a slow cluster: used when the component has an error of its own. Rejects with the reason of the signal. */
export async function resolvedSoFar(
  resolving: Promise<Resolved>,
  { deps, ...subject }: Subject & { readonly deps: Pick<ReconcileDeps, "clock" | "spokes"> },
  signal: AbortSignal,
): Promise<Pick<Steps, "resolved" | "obstacle">> {
  try {
    const resolved = await Promise.race([resolving, delay(deps.clock, 0, signal)]);
    return { resolved: resolved !== undefined };
  } catch (error) {
    signal.throwIfAborted();
    const failure = fleetErrorOf(error, clusterNameOf(subject.component));
    const obstacle = asLoss(failure, connectionHistoryOf(subject, deps));
    const { reason } = obstacle;
    // A connection that is being replaced says nothing about the cluster.
    const isStale = reason === "RemoteClusterStale";
    const isKnown = !isStale && reasons[reason].condition === "TargetClusterResolved";
    return { resolved: false, ...(isKnown ? { obstacle } : {}) };
  }
}

/** Ends watches, guard and repairs of a component that may not use its cluster any more. The installation and the policies that guard its anchor stay. Security: T-05. */
export async function stopManaging(
  { component, installation }: Subject,
  { guards }: Pick<ReconcileDeps, "guards">,
): Promise<void> {
  guards.stopProtecting(component);
  await installation.closeView();
}
