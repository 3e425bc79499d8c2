import type { ReferencePolicy } from "../../access/providers/reference-policy.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { Component } from "../../api/component.ts";
import { byText } from "../../api/fields.ts";
import { type FleetSet, type FleetSetKind, fleetSetKinds } from "../../api/fleet-set.ts";
import { nameId, ownerSetId, setId, targetId } from "../../api/keys.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { Obstacle, SelectedCluster, Selection } from "../../sets/facts.ts";

/** A set that selects a cluster. */
export interface Selector {
  readonly set: FleetSet;
  readonly cluster: SelectedCluster;
}

/** The present objects of the hub, including the recent writes of this process. Keys of clusters are `namespace/name`. */
export interface HubView {
  readonly set: (key: string) => FleetSet | undefined;
  /** Components in a group of `componentGroupsOf`. */
  readonly components: (group: string) => readonly Component[];
  /** Revisions that carry the labels of a set. */
  readonly revisions: (setKey: string) => readonly KubeObject[];
  /** The sets of a kind that select a cluster, the oldest first. */
  readonly selectors: (kind: FleetSetKind, cluster: string) => readonly Selector[];
  readonly profiles: ReadonlyMap<string, ClusterProfile>;
  readonly selectionOf: (set: FleetSet) => Selection;
  /** Absent: every component may use every ClusterProfile. */
  readonly policy: ReferencePolicy | undefined;
  /** Why the hub refused components of the set lately, by cluster. */
  readonly refusals: ReadonlyMap<string, Obstacle>;
  /** Why the hub refused components of the set after the last decision, by cluster. */
  readonly unwritten?: ReadonlyMap<string, string>;
  /** The versions of the release folder, the newest first; absent: not known. */
  readonly available?: readonly string[];
  /** Digest of the present rendering of the set; absent: not known. */
  readonly digest?: string;
}

/** The groups of a component: the set whose labels it carries, and its cluster. */
export function componentGroupsOf(component: Component): readonly string[] {
  const owner = ownerSetId(component);
  const cluster = placeOf(component.kind, targetId(component));
  return owner === undefined ? [cluster] : [owner, cluster];
}

/** Key of a cluster for one kind of components. */
export function placeOf(kind: Component["kind"], cluster: string): string {
  return `${kind} on ${cluster}`;
}

/** Sorts sets by age: the older one of two has a cluster. Of two sets from one second, the one with the smaller uid. Spec: sets.md 8. */
export function ageOf({ metadata }: FleetSet): string {
  return `${metadata.creationTimestamp ?? ""} ${metadata.uid}`;
}

/** The clusters of a selection, by key. */
function clustersOf(selection: Selection): ReadonlyMap<string, SelectedCluster> {
  if (selection.kind === "unusable") return new Map();
  return new Map(selection.clusters.map((one) => [nameId(one), one]));
}

/** All objects of a hub, in lists. */
export interface HubLists extends Omit<HubView, "set" | "components" | "revisions" | "selectors"> {
  readonly sets: readonly FleetSet[];
  readonly components: readonly Component[];
  readonly revisions: readonly KubeObject[];
}

/** A view of a hub for one decision, from lists of its objects. */
export function viewOfLists({ sets, components, revisions, ...rest }: HubLists): HubView {
  const byKey = new Map(sets.map((set) => [setId(set), set]));
  const inGroups = components.flatMap((component) =>
    componentGroupsOf(component).map((group) => ({ group, component })),
  );
  const byGroup = Map.groupBy(inGroups, ({ group }) => group);
  const selecting = sets
    .toSorted(byText(ageOf))
    .map((set) => ({ set, clusters: clustersOf(rest.selectionOf(set)) }));
  return {
    ...rest,
    set: (key) => byKey.get(key),
    components: (group) => byGroup.get(group)?.map(({ component }) => component) ?? [],
    revisions: (key) => revisions.filter((one) => ownerSetId(one) === key),
    selectors: (kind, key) =>
      selecting.flatMap(({ set, clusters }) => {
        const cluster = clusters.get(key);
        return cluster === undefined || set.kind !== kind ? [] : [{ set, cluster }];
      }),
  };
}

/** The kind of components that a set stamps. */
export function componentKindOf({ kind }: Pick<FleetSet, "kind">): Component["kind"] {
  return fleetSetKinds[kind].component;
}
