import type { KubeClient } from "../access/kube-client.ts";
import type { Component } from "../api/component.ts";
import type { Target } from "./apply/target.ts";
import type { Acquaintance } from "./failure.ts";
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
