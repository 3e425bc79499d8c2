import { setImmediate } from "node:timers/promises";

import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { byText, isSameJson } from "../../api/fields.ts";
import { type FleetSet, type FleetSetKind, fleetSetKinds } from "../../api/fleet-set.ts";
import { nameId, setId } from "../../api/keys.ts";
import type { SelectedCluster, Selection } from "../../sets/facts.ts";
import { selectsProfile } from "../../sets/select-clusters.ts";
import { findSelection, type PlacementSource, type SelectionSources } from "./find-selection.ts";
import { ageOf, componentKindOf, placeOf, type Selector } from "./hub-view.ts";

export interface SelectionsOptions {
  readonly sources: SelectionSources;
  /** Sets of a namespace that are rolled out. */
  readonly maxSetsPerNamespace: number;
}

interface Entry {
  readonly set: FleetSet;
  readonly unusable?: Selection;
  /** By key; empty while the selection is unusable. */
  readonly clusters: Map<string, SelectedCluster>;
}

/** At the start the clusters of so many sets are found between two pauses. */
const atOnce = 50;

/**
 * The clusters that each set selects, and the sets that select each cluster. Each change returns the keys of the sets that it may concern: the sets
 * that select a cluster of the changed object. With too many sets in a namespace, only the oldest ones select clusters.
 */
export class Selections {
  readonly #options: SelectionsOptions;
  readonly #entries = new Map<string, Entry>();
  /** By `placeOf`. */
  readonly #places = new Map<string, Map<string, Selector>>();
  readonly #sorted = new Map<string, readonly Selector[]>();
  readonly #namespaces = new Map<string, Map<string, FleetSet>>();
  readonly #admitted = new Map<string, ReadonlySet<string>>();

  constructor(options: SelectionsOptions) {
    this.#options = options;
  }

  /** Finds the clusters of all sets, with pauses in which other work goes on. */
  async fill(sets: ReadonlyMap<string, FleetSet>, signal: AbortSignal): Promise<void> {
    for (const [key, set] of sets) {
      if (set.metadata.deletionTimestamp === undefined) this.#inNamespace(set).set(key, set);
    }
    for (const namespace of this.#namespaces.keys()) this.#admit(namespace);
    for (const [index, key] of [...sets.keys()].entries()) {
      // oxlint-disable-next-line no-await-in-loop -- the pause
      if (index % atOnce === atOnce - 1) await setImmediate(undefined, { signal });
      const set = sets.get(key);
      if (set !== undefined) this.#place(key, set);
    }
  }

  /** The clusters of a set. */
  of(set: FleetSet): Selection {
    const key = setId(set);
    const known = this.#entries.get(key);
    const { uid, generation } = set.metadata;
    const isSame = known?.set.metadata.uid === uid && known.set.metadata.generation === generation;
    return isSame ? selectionOf(known) : this.#find(key, set);
  }

  /** The sets of a kind that select a cluster, the oldest first. */
  on(kind: FleetSetKind, cluster: string): readonly Selector[] {
    const place = placeOf(fleetSetKinds[kind].component, cluster);
    const known = this.#sorted.get(place);
    if (known !== undefined) return known;
    const selectors = [...(this.#places.get(place)?.values() ?? [])];
    const sorted = selectors.toSorted(byText(({ set }) => ageOf(set)));
    this.#sorted.set(place, sorted);
    return sorted;
  }

  /** The keys of the sets that select at least one of some places. */
  keysOn(places: Iterable<string>): ReadonlySet<string> {
    return new Set([...places].flatMap((place) => [...(this.#places.get(place)?.keys() ?? [])]));
  }

  /** A set is new or changed. */
  put(set: FleetSet): ReadonlySet<string> {
    const key = setId(set);
    const { namespace } = set.metadata;
    const isCounted = set.metadata.deletionTimestamp === undefined;
    if (isCounted) this.#inNamespace(set).set(key, set);
    else this.#inNamespace(set).delete(key);
    const others = this.#admit(namespace);
    const touched = this.#place(key, set);
    return new Set([key, ...others, ...this.keysOn(touched)]);
  }

  /** A set is gone. */
  delete(set: FleetSet): ReadonlySet<string> {
    const key = setId(set);
    this.#inNamespace(set).delete(key);
    const touched = this.#leave(key);
    return new Set([...this.#admit(set.metadata.namespace), ...this.keysOn(touched)]);
  }

  /** A ClusterProfile is new, changed or gone. */
  profileChanged(cluster: string, profile: ClusterProfile | undefined): ReadonlySet<string> {
    const concerned = new Set<string>();
    // A copy: whatever is placed anew comes to the end of the map.
    for (const [key, entry] of Array.from(this.#entries)) {
      const had = entry.clusters.has(cluster);
      if (entry.set.spec.clusters.from === "Selector") {
        const isSelected = entry.unusable === undefined && selects(entry.set, profile);
        if (isSelected && !had)
          this.#enter(key, entry, {
            namespace: profile.metadata.namespace,
            name: profile.metadata.name,
          });
        if (!isSelected && had) this.#exit(key, entry, cluster);
        if (had || isSelected) concerned.add(key);
      } else if (cluster.startsWith(`${entry.set.metadata.namespace}/`)) {
        for (const one of this.#placeAnew(key, entry)) concerned.add(one);
      }
    }
    const kinds = Object.values(fleetSetKinds);
    const here = this.keysOn(kinds.map(({ component }) => placeOf(component, cluster)));
    return new Set([...concerned, ...here]);
  }

  /** PlacementDecisions of a source were listed or changed. */
  placementsChanged(source: PlacementSource): ReadonlySet<string> {
    const concerned = new Set<string>();
    // A copy: whatever is placed anew comes to the end of the map.
    for (const [key, entry] of Array.from(this.#entries)) {
      if (entry.set.spec.clusters.from !== source) continue;
      for (const one of this.#placeAnew(key, entry)) concerned.add(one);
    }
    return concerned;
  }

  #inNamespace({ metadata: { namespace } }: FleetSet): Map<string, FleetSet> {
    const known = this.#namespaces.get(namespace) ?? new Map<string, FleetSet>();
    this.#namespaces.set(namespace, known);
    return known;
  }

  /** Notes which sets of a namespace are rolled out. Returns the keys of the sets that this concerns. */
  #admit(namespace: string): ReadonlySet<string> {
    const { maxSetsPerNamespace } = this.#options;
    const all = this.#namespaces.get(namespace) ?? new Map<string, FleetSet>();
    const before = this.#admitted.get(namespace);
    const oldest = [...all].toSorted(byText(([, set]) => ageOf(set))).slice(0, maxSetsPerNamespace);
    const now = new Set(oldest.map(([key]) => key));
    if (all.size <= maxSetsPerNamespace) this.#admitted.delete(namespace);
    else this.#admitted.set(namespace, now);
    const concerned = new Set<string>();
    for (const [key, set] of all) {
      if ((before?.has(key) ?? true) === now.has(key)) continue;
      for (const one of [key, ...this.keysOn(this.#place(key, set))]) concerned.add(one);
    }
    return concerned;
  }

  #find(key: string, set: FleetSet): Selection {
    const { sources, maxSetsPerNamespace } = this.#options;
    const { namespace, deletionTimestamp } = set.metadata;
    const isAdmitted = this.#admitted.get(namespace)?.has(key) !== false;
    if (isAdmitted || deletionTimestamp !== undefined) return findSelection(set, sources);
    const message = `Namespace ${namespace} has more than ${maxSetsPerNamespace} sets (--max-sets-per-namespace); the oldest ones are rolled out`;
    return { kind: "unusable", reason: "TooManySets", message };
  }

  /** Finds the clusters of a set anew. Returns the places that it selected or selects. */
  #place(key: string, set: FleetSet): ReadonlySet<string> {
    const left = this.#leave(key);
    const selection = this.#find(key, set);
    const isUsable = selection.kind === "clusters";
    const entry = { set, clusters: new Map(), ...(isUsable ? {} : { unusable: selection }) };
    this.#entries.set(key, entry);
    const clusters = isUsable ? selection.clusters : [];
    return new Set([...left, ...clusters.map((cluster) => this.#enter(key, entry, cluster))]);
  }

  /** Finds the clusters of a set again. Returns the keys of the sets that the change concerns: none when the clusters are unchanged. */
  #placeAnew(key: string, before: Entry): Iterable<string> {
    const touched = this.#place(key, before.set);
    const now = this.#entries.get(key);
    const isSame = now !== undefined && isSameJson(selectionOf(before), selectionOf(now));
    return isSame ? [] : [key, ...this.keysOn(touched)];
  }

  #leave(key: string): readonly string[] {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry === undefined) return [];
    // Kept as it was, for a caller that compares.
    const clusters = new Map(entry.clusters);
    return [...clusters.keys()].map((cluster) => this.#exit(key, { ...entry, clusters }, cluster));
  }

  #enter(key: string, { set, clusters }: Entry, cluster: SelectedCluster): string {
    const name = nameId(cluster);
    const place = placeOf(componentKindOf(set), name);
    clusters.set(name, cluster);
    const selectors = this.#places.get(place) ?? new Map<string, Selector>();
    this.#places.set(place, selectors.set(key, { set, cluster }));
    this.#sorted.delete(place);
    return place;
  }

  #exit(key: string, { set, clusters }: Entry, cluster: string): string {
    const place = placeOf(componentKindOf(set), cluster);
    clusters.delete(cluster);
    const selectors = this.#places.get(place);
    selectors?.delete(key);
    if (selectors?.size === 0) this.#places.delete(place);
    this.#sorted.delete(place);
    return place;
  }
}

function selectionOf({ unusable, clusters }: Entry): Selection {
  return unusable ?? { kind: "clusters", clusters: [...clusters.values()] };
}

function selects(
  { spec, metadata }: FleetSet,
  profile: ClusterProfile | undefined,
): profile is ClusterProfile {
  const { selector = {} } = spec.clusters;
  return profile !== undefined && selectsProfile(selector, profile, metadata.namespace);
}
