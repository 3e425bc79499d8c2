import {
  distrustedProfile,
  refusedReference,
  type ReferencePolicy,
} from "../../access/providers/reference-policy.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { Component } from "../../api/component.ts";
import { byText } from "../../api/fields.ts";
import { type FleetSet, setAnnotations, setLabels } from "../../api/fleet-set.ts";
import { nameId, ownerSetId, setId, targetId } from "../../api/keys.ts";
import { contentOf } from "../../sets/content.ts";
import { DesiredSpecs } from "../../sets/desired-spec.ts";
import type { Obstacle, SelectedCluster, SetFacts } from "../../sets/facts.ts";
import { exclusionOf } from "../../sets/members.ts";
import { revisionOf } from "../../sets/revision-object.ts";
import { stageOf } from "../../sets/stages.ts";
import { type Adoption, judgeAdoption } from "./adoption.ts";
import { isChildOf } from "./child-object.ts";
import { ageOf, componentKindOf, type HubView, placeOf, type Selector } from "./hub-view.ts";
import { waitsOf } from "./other-set.ts";

/** All that a decision about a set follows from. Pure. */
export function gatherFacts(set: FleetSet, view: HubView): SetFacts {
  const key = setId(set);
  const selection = view.selectionOf(set);
  const children = view
    .components(key)
    .filter((one) => one.kind === componentKindOf(set) && isChildOf(one, set));
  // Revisions of a deleted set of this name do not belong to this set.
  const revisions = view
    .revisions(key)
    .filter(
      ({ metadata }) =>
        metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid) === true,
    );
  const facts = {
    set,
    selection,
    children,
    revisions: revisions.flatMap((object) => revisionOf(object) ?? []),
    profiles: view.profiles,
    ...(view.unwritten === undefined ? {} : { unwritten: view.unwritten }),
    ...(view.available === undefined ? {} : { available: view.available }),
    ...(view.digest === undefined ? {} : { digest: view.digest }),
  };
  // A set that is deleted takes nothing over any more.
  const isDeleted = set.metadata.deletionTimestamp !== undefined;
  if (isDeleted || selection.kind === "unusable") return { ...facts, obstacles: new Map() };
  const others = new Neighbourhood(set, children, view);
  const obstacles = new Map<string, Obstacle>();
  const adopted: Component[] = [];
  for (const cluster of selection.clusters) {
    const found = others.judge(cluster);
    if (found === undefined) continue;
    if (found.kind === "leave") {
      obstacles.set(nameId(cluster), found.obstacle);
    } else adopted.push(withoutMarks(found.component));
  }
  const waits = waitsOf(set, selection.clusters, view);
  return { ...facts, children: [...children, ...adopted], obstacles, waits };
}

/** The other owners of the clusters of a set. */
class Neighbourhood {
  readonly #set: FleetSet;
  readonly #view: HubView;
  readonly #owned: ReadonlySet<string>;
  readonly #specs: DesiredSpecs;

  constructor(set: FleetSet, children: readonly Component[], view: HubView) {
    this.#set = set;
    this.#view = view;
    this.#owned = new Set(children.map(targetId));
    this.#specs = new DesiredSpecs(contentOf(set, view));
  }

  /** Why the set may not take a cluster, the component there that it takes over, or undefined: nothing is in its way. */
  judge(cluster: SelectedCluster): Adoption | undefined {
    const key = nameId(cluster);
    const profile = this.#view.profiles.get(key);
    const { policy, refusals } = this.#view;
    const refused = notPermitted(this.#set, { cluster, profile }, policy) ?? refusals.get(key);
    if (refused !== undefined) return { kind: "leave", obstacle: refused };
    if (this.#owned.has(key) || profile === undefined) return undefined;
    const component = this.#componentOn(key);
    if (component === undefined) return this.#duplicate(cluster, profile);
    const isOwned = this.#isOwned(component);
    return judgeAdoption(this.#set, { component, isOwned }, { profile, specs: this.#specs });
  }

  /** The component of a set counts before other components on its cluster. Otherwise the oldest component counts. */
  #componentOn(cluster: string): Component | undefined {
    const rankOf = (one: Component): string =>
      `${this.#isOwned(one) ? 0 : 1}|${one.metadata.creationTimestamp ?? ""}`;
    const found = this.#view.components(placeOf(componentKindOf(this.#set), cluster));
    return found.toSorted(byText(rankOf))[0];
  }

  #isOwned(component: Component): boolean {
    const owner = ownerSetId(component);
    const set = owner === undefined ? undefined : this.#view.set(owner);
    return set !== undefined && isChildOf(component, set);
  }

  /** Only an older set that manages the cluster or will is in the way. */
  #duplicate(selected: SelectedCluster, profile: ClusterProfile): Adoption | undefined {
    const age = ageOf(this.#set);
    const selectors = this.#view.selectors(this.#set.kind, nameId(selected));
    const rival = firstOlder(selectors, age, ({ set, cluster }) => {
      const stage = stageOf(set.spec.rollout?.stages ?? [], { cluster, profile });
      return (
        set.metadata.deletionTimestamp === undefined &&
        exclusionOf(set, { cluster, profile }, stage) === undefined &&
        notPermitted(set, { cluster, profile }, this.#view.policy) === undefined
      );
    });
    if (rival === undefined) return undefined;
    const { metadata } = rival.set;
    const message = `The older set ${metadata.namespace}/${metadata.name} selects the cluster, too`;
    return { kind: "leave", obstacle: { reason: "Duplicate", message } };
  }
}

/** A component that will be taken over, without any stamp: the revision in a copy or a backup does not count. */
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

/** The oldest set that wants the cluster and is older than `age`. The usual one is the first of all. */
function firstOlder(
  selectors: readonly Selector[],
  age: string,
  wants: (selector: Selector) => boolean,
): Selector | undefined {
  for (const selector of selectors) {
    if (ageOf(selector.set) >= age) return undefined;
    if (wants(selector)) return selector;
  }
  return undefined;
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
