import { reflectorKey } from "../../access/kube/kept-objects.ts";
import {
  distrustedProfile,
  refusedReference,
  type ReferencePolicy,
} from "../../access/providers/reference-policy.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { Component } from "../../api/component.ts";
import { byText } from "../../api/fields.ts";
import { type FleetSet, fleetSetKinds, setAnnotations, setLabels } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { DesiredSpecs } from "../../sets/desired-spec.ts";
import type { Obstacle, SelectedCluster, Selection, SetFacts } from "../../sets/facts.ts";
import { exclusionOf } from "../../sets/members.ts";
import { clusterKeyOf } from "../../sets/removals.ts";
import { revisionOf } from "../../sets/revision-object.ts";
import { stageOf } from "../../sets/stages.ts";
import { type Adoption, judgeAdoption } from "./adoption.ts";
import { isChildOf } from "./child-object.ts";
import { ownerKeyOf, setKeyOf } from "./set-caches.ts";

/** What the hub holds now, with what this process has written itself. */
export interface HubView {
  readonly sets: ReadonlyMap<string, FleetSet>;
  readonly components: Iterable<Component>;
  readonly revisions: Iterable<KubeObject>;
  readonly profiles: ReadonlyMap<string, ClusterProfile>;
  readonly selectionOf: (set: FleetSet) => Selection;
  /** Absent: every component may use every ClusterProfile. */
  readonly policy: ReferencePolicy | undefined;
  /** Why the hub refused components of the set lately, by cluster. */
  readonly refusals: ReadonlyMap<string, Obstacle>;
  /** Why the hub did not take components of the set at the last look, by cluster. */
  readonly unwritten?: ReadonlyMap<string, string>;
}

/** All that a decision about a set follows from. Pure. */
export function gatherFacts(set: FleetSet, view: HubView): SetFacts {
  const key = setKeyOf(set);
  const selection = view.selectionOf(set);
  const { component: kind } = fleetSetKinds[set.kind];
  const components = [...view.components].filter((one) => one.kind === kind);
  const children = components.filter((one) => isChildOf(one, set));
  // Those of a set that had this name before are not of this one.
  const revisions = [...view.revisions].filter(
    (one) =>
      ownerKeyOf(one) === key &&
      one.metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid) === true,
  );
  const facts = {
    set,
    selection,
    children,
    revisions: revisions.flatMap((object) => revisionOf(object) ?? []),
    profiles: view.profiles,
    ...(view.unwritten === undefined ? {} : { unwritten: view.unwritten }),
  };
  // A set that is deleted takes nothing over any more.
  const isDeleted = set.metadata.deletionTimestamp !== undefined;
  if (isDeleted || selection.kind === "unusable") return { ...facts, obstacles: new Map() };
  const others = new Neighbourhood(set, { components, children }, view);
  const obstacles = new Map<string, Obstacle>();
  const adopted: Component[] = [];
  for (const cluster of selection.clusters) {
    const found = others.judge(cluster);
    if (found === undefined) continue;
    if (found.kind === "leave") {
      obstacles.set(reflectorKey(cluster), found.obstacle);
    } else adopted.push(withoutMarks(found.component));
  }
  return { ...facts, children: [...children, ...adopted], obstacles };
}

type ClustersByKey = ReadonlyMap<string, SelectedCluster>;

/** What else wants the clusters of a set. */
class Neighbourhood {
  readonly #set: FleetSet;
  readonly #view: HubView;
  readonly #owned: ReadonlySet<string>;
  readonly #foreign: ReadonlyMap<string, Component>;
  readonly #older: readonly { readonly set: FleetSet; readonly clusters: ClustersByKey }[];
  readonly #specs: DesiredSpecs;

  constructor(
    set: FleetSet,
    found: { readonly components: readonly Component[]; readonly children: readonly Component[] },
    view: HubView,
  ) {
    this.#set = set;
    this.#view = view;
    this.#owned = new Set(found.children.map(clusterKeyOf));
    const own = new Set(found.children);
    // Of several on a cluster that of a set counts, else the oldest one: the last of a key is kept.
    const places = found.components
      .filter((one) => !own.has(one))
      .map((one) => ({
        one,
        rank: `${this.#isOwned(one) ? 0 : 1}|${one.metadata.creationTimestamp ?? ""}`,
      }))
      .toSorted(byText(({ rank }) => rank))
      .toReversed();
    this.#foreign = new Map(places.map(({ one }) => [clusterKeyOf(one), one]));
    this.#older = [...view.sets.values()]
      .filter((other) => isOlderRival(other, set))
      .map((other) => ({ set: other, clusters: clustersOf(view.selectionOf(other)) }));
    this.#specs = new DesiredSpecs(set.spec);
  }

  /** Why the set may not take a cluster, the component there that it takes over, or undefined: nothing is in its way. */
  judge(cluster: SelectedCluster): Adoption | undefined {
    const key = reflectorKey(cluster);
    const profile = this.#view.profiles.get(key);
    const { policy, refusals } = this.#view;
    const refused = notPermitted(this.#set, { cluster, profile }, policy) ?? refusals.get(key);
    if (refused !== undefined) return { kind: "leave", obstacle: refused };
    if (this.#owned.has(key) || profile === undefined) return undefined;
    const component = this.#foreign.get(key);
    if (component === undefined) return this.#duplicate(cluster, profile);
    const isOwned = this.#isOwned(component);
    return judgeAdoption(this.#set, { component, isOwned }, { profile, specs: this.#specs });
  }

  #isOwned(component: Component): boolean {
    const owner = ownerKeyOf(component);
    const set = owner === undefined ? undefined : this.#view.sets.get(owner);
    return set !== undefined && isChildOf(component, set);
  }

  /** Only an older set that manages the cluster or will is in the way. */
  #duplicate(selected: SelectedCluster, profile: ClusterProfile): Adoption | undefined {
    const { labels = {} } = profile.metadata;
    const rival = this.#older.find(({ set, clusters }) => {
      const cluster = clusters.get(reflectorKey(selected));
      if (cluster === undefined) return false;
      const stage = stageOf(set.spec.rollout?.stages ?? [], { cluster, labels });
      return (
        exclusionOf(set, { cluster, labels }, stage) === undefined &&
        notPermitted(set, { cluster, profile }, this.#view.policy) === undefined
      );
    });
    if (rival === undefined) return undefined;
    const { metadata } = rival.set;
    const message = `The older set ${metadata.namespace}/${metadata.name} selects the cluster, too`;
    return { kind: "leave", obstacle: { reason: "Duplicate", message } };
  }
}

/** A component that is taken over, as if no set had stamped it: what a copy or a backup says of its revision counts for nothing. */
function withoutMarks(component: Component): Component {
  const { labels, annotations, ...metadata } = component.metadata;
  const rest = {
    labels: without(labels, setLabels),
    annotations: without(annotations, setAnnotations),
  };
  return { ...component, metadata: { ...metadata, ...rest } };
}

function without(
  all: Readonly<Record<string, string>> = {},
  names: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const marks = new Set(Object.values(names));
  return Object.fromEntries(Object.entries(all).filter(([name]) => !marks.has(name)));
}

/** The older one of two sets has a cluster; of two of the same second the one with the smaller uid. Spec: sets.md 8. */
function isOlderRival(other: FleetSet, set: FleetSet): boolean {
  if (other.kind !== set.kind || other.metadata.uid === set.metadata.uid) return false;
  if (other.metadata.deletionTimestamp !== undefined) return false;
  const [one, two] = [other, set].map(
    ({ metadata }) => `${metadata.creationTimestamp ?? ""} ${metadata.uid}`,
  );
  return (one ?? "") < (two ?? "");
}

function clustersOf(selection: Selection): ClustersByKey {
  if (selection.kind === "unusable") return new Map();
  return new Map(selection.clusters.map((one) => [reflectorKey(one), one]));
}

/** Why the components of a set may not use a ClusterProfile. */
function notPermitted(
  { metadata: { namespace: home }, spec }: FleetSet,
  { cluster, profile }: { cluster: SelectedCluster; profile: ClusterProfile | undefined },
  policy: ReferencePolicy | undefined,
): Obstacle | undefined {
  if (spec.clusters.from === "PlacementDecision" && cluster.namespace !== home) {
    // The author of the set was asked for the right to use the clusters of this namespace only.
    const message = `The PlacementDecision names a ClusterProfile of namespace ${cluster.namespace}, and a set may have those of its own namespace`;
    return { reason: "NotPermitted", message };
  }
  if (policy === undefined) return undefined;
  const message =
    refusedReference(home, cluster, policy) ??
    (profile === undefined ? undefined : distrustedProfile(profile, policy));
  return message === undefined ? undefined : { reason: "NotPermitted", message };
}
