import { type Right, rightTo } from "../../../../../access/kube/missing-right.ts";
import { withTimeout } from "../../../../../access/time/deadline.ts";
import { systemClock } from "../../../../../access/time/system-clock.ts";
import type { ClusterProfile } from "../../../../../api/cluster-profile.ts";
import type { ComponentKind } from "../../../../../api/component.ts";
import { type FleetSet, fleetSetApiVersion, fleetSetKinds } from "../../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { knownResource } from "../../../../../api/resources.ts";
import { findSelection, placementKinds } from "../../../../../controller/sets/find-selection.ts";
import { exclusionOf } from "../../../../../sets/members.ts";
import { stageOf } from "../../../../../sets/stages.ts";
import { listSets } from "../../../hub/fleet-sets.ts";
import { listVisible, type VisibleList } from "../../../hub/list-visible.ts";
import { idOf } from "../../../rights/spoke-objects.ts";
import { allSetKinds } from "../../../selection/set-ref.ts";
import type { ClusterAccess } from "../../../spokes/cluster-access.ts";

type HubAccess = Pick<ClusterAccess, "hub" | "hubTimeoutMs">;

/**
 * The sets that make their component on the cluster of a ClusterProfile again when somebody deletes it. `kinds`: of the components. Throws
 * the errors of KubeClient.
 */
export async function selectingSets(
  profile: ClusterProfile,
  { access, kinds }: { readonly access: HubAccess; readonly kinds: readonly ComponentKind[] },
  signal: AbortSignal,
): Promise<SelectingSets> {
  const wanted = allSetKinds.filter((kind) => kinds.includes(fleetSetKinds[kind].component));
  const listed = await Promise.all(
    wanted.map((kind) =>
      listVisible(
        listSets(access, { kinds: [kind] }, signal),
        rightTo("list", knownResource(fleetSetApiVersion, kind)),
      ),
    ),
  );
  const all = await Promise.all(
    listed
      .flatMap(({ items }) => items)
      .map(async (set) => ({ set, placements: await readPlacements(set, access, signal) })),
  );
  return {
    sets: all
      .filter(({ set, placements: { items } }) => stamps(set, profile, items))
      .map(({ set }) => set),
    unlisted: [
      ...listed.flatMap(({ denied }) => denied),
      ...all.flatMap(({ placements: { denied } }) => denied),
    ],
  };
}

/** The sets that would make a component again, and what of sets and their placements may not be listed. */
interface SelectingSets {
  readonly sets: readonly FleetSet[];
  readonly unlisted: readonly Right[];
}

/** The placements that a set may select by. None for a set that selects by labels. */
async function readPlacements(
  { spec, metadata: { namespace } }: FleetSet,
  { hub, hubTimeoutMs }: HubAccess,
  signal: AbortSignal,
): Promise<VisibleList<KubeObject>> {
  const { from } = spec.clusters;
  if (from === "Selector") return { items: [], denied: [] };
  const { apiVersion, kind } = placementKinds[from];
  const ref = { resource: knownResource(apiVersion, kind), namespace };
  const late = withTimeout(systemClock, hubTimeoutMs, signal);
  const list = hub.list(ref, {}, late).then(({ items }) => items);
  return await listVisible(list, rightTo("list", ref.resource, namespace));
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
