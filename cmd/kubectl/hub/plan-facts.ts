import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { ServedKind } from "../../../access/kube/profile-versions.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import {
  type ClusterProfile,
  clusterProfileApiVersion,
  isClusterProfile,
} from "../../../api/cluster-profile.ts";
import { type Component, operatorApiVersion } from "../../../api/component.ts";
import { type FleetSet, fleetSetKinds } from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../../api/resources.ts";
import { findSelection, placementKinds } from "../../../controller/sets/find-selection.ts";
import { gatherFacts } from "../../../controller/sets/gather-facts.ts";
import { viewOfLists } from "../../../controller/sets/hub-view.ts";
import type { SetFacts } from "../../../sets/facts.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { deniedMessage } from "../spokes/spoke-reading.ts";
import { listSets } from "./fleet-sets.ts";
import { componentsOf, crdForm } from "./installations.ts";
import { MalformedObjects } from "./malformed-objects.ts";
import { misfitOfSpec } from "./spec-form.ts";

/** The facts that a plan needs. */
export interface PlanFacts {
  readonly facts: SetFacts;
  /** Objects that could not be read, each with the reason. */
  readonly unread: readonly string[];
}

type HubAccess = Pick<ClusterAccess, "hub" | "hubTimeoutMs" | "malformed"> &
  Pick<SetFacts, "available" | "digest">;

/** Reads the facts by which the controller would decide, as far as the user may read them. The set may not exist on the hub. Throws as KubeClient does. */
export async function readPlanFacts(
  access: HubAccess,
  set: FleetSet,
  signal: AbortSignal,
): Promise<PlanFacts> {
  const { hub, hubTimeoutMs, malformed = new MalformedObjects(), available, digest } = access;
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const { namespace: home } = set.metadata;
  const { component: kind } = fleetSetKinds[set.kind];
  const { from, selector } = set.spec.clusters;
  const unread: string[] = [];
  const list = new Lister({ hub, unread, signal: deadline });
  const resource = knownResource(operatorApiVersion, kind);
  const profileResource = knownResource(clusterProfileApiVersion, "ClusterProfile");
  const placement = from === "Selector" ? undefined : placementKinds[from];
  const [components, profiles, placements, sets] = await Promise.all([
    list.everywhere(resource, [home]),
    list.everywhere(profileResource, selector?.namespaces ?? [home], new ServedKind(hub)),
    placement && list.in(knownResource(placement.apiVersion, placement.kind), home),
    otherSets(access, set, deadline).catch((error: unknown) => {
      unread.push(`other sets: ${deniedMessage(error)}`);
      return [];
    }),
  ]);
  const known = profiles
    .map((item) => ({ ...item, apiVersion: clusterProfileApiVersion, kind: "ClusterProfile" }))
    .filter(isClusterProfile);
  const selectionOf = (one: FleetSet) =>
    findSelection(one, {
      profiles: (): readonly ClusterProfile[] => known,
      placements: (source) => (source === from ? placements : undefined),
    });
  const view = viewOfLists({
    sets: [...sets, set],
    components: renderable(componentsOf(components, kind, malformed), malformed),
    // The plan computes the revision from the spec.
    revisions: [],
    profiles: new Map(
      known.map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, one] as const),
    ),
    selectionOf,
    // Only the controller knows the reference policy and the refusals of the hub.
    policy: undefined,
    refusals: new Map(),
    ...(available === undefined ? {} : { available }),
    ...(digest === undefined ? {} : { digest }),
  });
  // A plan does not say when a cluster begins.
  const { waits: _, ...facts } = gatherFacts(set, view);
  return { facts, unread };
}

/** The components whose specs can be rendered; the others go to `malformed`. */
function renderable(
  components: readonly Component[],
  malformed: MalformedObjects,
): readonly Component[] {
  return components.filter((component) => {
    const wrong = misfitOfSpec(component);
    if (wrong === undefined) return true;
    malformed.add({ ...component, form: crdForm, why: wrong.sentence });
    return false;
  });
}

async function otherSets(
  access: HubAccess,
  { kind, metadata }: FleetSet,
  signal: AbortSignal,
): Promise<readonly FleetSet[]> {
  const all = await listSets(access, { kinds: [kind] }, signal);
  return all.filter(
    (one) => one.metadata.namespace !== metadata.namespace || one.metadata.name !== metadata.name,
  );
}

interface Listing {
  readonly hub: Pick<KubeClient, "list">;
  readonly unread: string[];
  readonly signal: AbortSignal;
}

/** Lists objects of the hub, as far as the user may. */
class Lister {
  readonly #listing: Listing;

  constructor(listing: Listing) {
    this.#listing = listing;
  }

  /** The objects of all namespaces, or without that right those of `namespaces`. Throws as KubeClient does. */
  async everywhere(
    resource: ResourceType,
    namespaces: readonly string[],
    client: Pick<KubeClient, "list"> = this.#listing.hub,
  ): Promise<readonly KubeObject[]> {
    const { signal, unread } = this.#listing;
    try {
      return (await client.list({ resource }, {}, signal)).items;
    } catch (error) {
      unread.push(`${resource.plural} of other namespaces: ${deniedMessage(error)}`);
    }
    const lists = await Promise.all(
      namespaces.map((namespace) => client.list({ resource, namespace }, {}, signal)),
    );
    return lists.flatMap(({ items }) => items);
  }

  async in(resource: ResourceType, namespace: string): Promise<readonly KubeObject[]> {
    const { hub, signal } = this.#listing;
    return (await hub.list({ resource, namespace }, {}, signal)).items;
  }
}
