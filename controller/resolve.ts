import type { KubeClient } from "../access/kube-client.ts";
import type { Component } from "../api/component.ts";
import { reasons } from "../api/reasons.ts";
import type { Target } from "./apply/target.ts";
import { delay } from "./clock.ts";
import { clusterNameOf } from "./cluster-name.ts";
import { type Acquaintance, fleetErrorOf, lossOf } from "./failure.ts";
import type { Steps } from "./outcome.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";

/** The target of a component and the connection behind it. */
export interface Resolved {
  readonly target: Target;
  /** The signal says for how long the connection may be used. */
  readonly connection: { readonly client: KubeClient; readonly signal: AbortSignal };
}

const fieldManagerPrefix = "knfleet-";

/** Field manager of everything that one hub applies. */
export function fieldManagerOf(hubId: string): string {
  return `${fieldManagerPrefix}${hubId.slice(0, 8)}`;
}

/**
 * The cluster that a component is for: the one of its ClusterProfile, or the hub itself. Throws FleetError with a reason of
 * `TargetClusterResolved`.
 */
export async function resolveTarget(
  { spec, metadata }: Component,
  { hubAsTarget, hubId, spokes }: Pick<ReconcileDeps, "hubAsTarget" | "hubId" | "spokes">,
  signal: AbortSignal,
): Promise<Resolved> {
  const ref = spec?.clusterProfileRef;
  const connection =
    ref === undefined ? { client: hubAsTarget, signal } : await spokes.acquire(ref, signal);
  const target: Target = {
    client: connection.client,
    ...(ref === undefined ? {} : { profile: ref }),
    namespace: metadata.namespace,
    fieldManager: fieldManagerOf(hubId),
    hubId,
  };
  return { target, connection };
}

/** What is known of the cluster of a component when it cannot be reached. */
export function acquaintanceWith(
  { component, installation }: Subject,
  { spokes }: Pick<ReconcileDeps, "spokes">,
): Acquaintance {
  const ref = component.spec?.clusterProfileRef;
  const isLost = ref !== undefined && spokes.state(ref)?.kind === "lost";
  const { wasReached } = installation;
  return { isLost, wasReached, status: component.status };
}

/**
 * What is known of the cluster of a component by now, for one that something else is wrong with: nobody waits for a cluster that takes its time.
 * Rejects with the reason of the signal.
 */
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
    const obstacle = lossOf(failure, acquaintanceWith(subject, deps));
    const { reason } = obstacle;
    // A connection that is being replaced says nothing of the cluster.
    const isStale = reason === "RemoteClusterStale";
    const isKnown = !isStale && reasons[reason].condition === "TargetClusterResolved";
    return { resolved: false, ...(isKnown ? { obstacle } : {}) };
  }
}
