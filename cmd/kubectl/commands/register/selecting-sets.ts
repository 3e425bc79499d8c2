import { unlessDenied } from "../../../../access/kube/api-error.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import type { ComponentKind } from "../../../../api/component.ts";
import { type FleetSet, fleetSetKinds } from "../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { findSelection, placementKinds } from "../../../../controller/sets/find-selection.ts";
import { exclusionOf } from "../../../../sets/members.ts";
import { stageOf } from "../../../../sets/stages.ts";
import { listSets } from "../../hub/fleet-sets.ts";
import { allSetKinds } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { idOf } from "./spoke-objects.ts";

type HubAccess = Pick<ClusterAccess, "hub" | "hubTimeoutMs">;

/**
 * The sets that make their component on the cluster of a ClusterProfile again when somebody deletes it. `kinds`: of the components. None where sets may not be listed. Throws
 * the errors of KubeClient.
 */
export async function selectingSets(
  profile: ClusterProfile,
  { access, kinds }: { readonly access: HubAccess; readonly kinds: readonly ComponentKind[] },
  signal: AbortSignal,
): Promise<readonly FleetSet[]> {
  const wanted = allSetKinds.filter((kind) => kinds.includes(fleetSetKinds[kind].component));
  const sets = (await unlessDenied(listSets(access, { kinds: wanted }, signal))) ?? [];
  const all = await Promise.all(
    sets.map(async (set) => ({ set, placements: await readPlacements(set, access, signal) })),
  );
  return all
    .filter(({ set, placements }) => stamps(set, profile, placements))
    .map(({ set }) => set);
}

/** The placements that a set may select by; undefined where they may not be read. */
async function readPlacements(
  { spec, metadata: { namespace } }: FleetSet,
  { hub, hubTimeoutMs }: HubAccess,
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  const { from } = spec.clusters;
  if (from === "Selector") return undefined;
  const { apiVersion, kind } = placementKinds[from];
  const ref = { resource: knownResource(apiVersion, kind), namespace };
  return (await unlessDenied(hub.list(ref, {}, withTimeout(systemClock, hubTimeoutMs, signal))))
    ?.items;
}

/** Whether a set selects a cluster and does not exclude it. Pure. */
export function stamps(
  set: FleetSet,
  profile: ClusterProfile,
  placements: readonly KubeObject[] | undefined,
): boolean {
  if (set.metadata.deletionTimestamp !== undefined) return false;
  const sources = { profiles: () => [profile], placements: () => placements };
  const selection = findSelection(set, sources);
  if (selection.kind !== "clusters") return false;
  const cluster = selection.clusters.find((one) => idOf(one) === idOf(profile.metadata));
  if (cluster === undefined) return false;
  const stage = stageOf(set.spec.rollout?.stages ?? [], { cluster, profile });
  return exclusionOf(set, { cluster, profile }, stage) === undefined;
}
