import {
  type Arbitrary,
  array,
  assert,
  boolean,
  constant,
  constantFrom,
  nat,
  oneof,
  property,
  record,
} from "fast-check";
import { expect, test } from "vitest";

import { type ClusterProfile, isClusterProfile } from "../../../api/cluster-profile.ts";
import { ocmManager } from "../../../api/delivery.ts";
import { byText } from "../../../api/fields.ts";
import type { FleetSet } from "../../../api/fleet-set.ts";
import { nameId, setId } from "../../../api/keys.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { findSelection, ocmLabels } from "../../../controller/sets/find-selection.ts";
import { Selections } from "../../../controller/sets/selections.ts";
import type { Selection } from "../../../sets/facts.ts";
import { SetWorld } from "../../sets/set-world.ts";
import { runsOf, seed } from "../../support/fuzz.ts";
import { ocmSlice } from "./ocm-slice.ts";

const { set: example } = new SetWorld({}, []);
const groups = ["a", "b", "c"] as const;
const group = constantFrom(...groups);
const index = nat(5);

interface SetChange {
  readonly kind: "set";
  readonly index: number;
  readonly group: string;
  readonly isPlaced: boolean;
  readonly isDeleted: boolean;
}

/** What happens to a set, a ClusterProfile or a Placement. */
type Change =
  | SetChange
  // The ClusterProfile stands for the ManagedCluster `cluster-<of>`.
  | { kind: "profile"; index: number; group: string; of: number }
  | { kind: "placement"; group: string; clusters: readonly number[] }
  | { kind: "no set" | "no profile"; index: number };

const change: Arbitrary<Change> = oneof(
  record({
    kind: constant("set" as const),
    index,
    group,
    isPlaced: boolean(),
    isDeleted: boolean(),
  }),
  record({ kind: constantFrom("no set" as const, "no profile" as const), index }),
  record({ kind: constant("profile" as const), index, group, of: index }),
  record({
    kind: constant("placement" as const),
    group,
    clusters: array(index, { maxLength: 3 }),
  }),
);

function clustersOf(name: string, isPlaced: boolean): FleetSet["spec"]["clusters"] {
  if (isPlaced) return { from: "OCMPlacement", ocmPlacement: { name } };
  return { from: "Selector", selector: { matchLabels: { group: name } } };
}

function setOf({
  index: at,
  group: matched,
  isDeleted,
  isPlaced,
}: Omit<SetChange, "kind">): FleetSet {
  const name = `set-${at}`;
  return {
    ...example,
    metadata: {
      ...example.metadata,
      name,
      uid: name,
      creationTimestamp: `2026-11-0${at + 1}T00:00:00Z`,
      ...(isDeleted ? { deletionTimestamp: "2026-12-01T00:00:00Z" } : {}),
    },
    spec: { ...example.spec, clusters: clustersOf(matched, isPlaced) },
  };
}

function profileOf(at: number, label: string, of = at): ClusterProfile {
  const name = `cluster-${at}`;
  const profile = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      namespace: "fleet",
      name,
      uid: name,
      resourceVersion: "1",
      labels: { group: label, [ocmLabels.cluster]: `cluster-${of}` },
    },
    spec: { clusterManager: { name: ocmManager } },
  };
  if (!isClusterProfile(profile)) throw new Error("No ClusterProfile");
  return profile;
}

function sliceOf(name: string, clusters: readonly number[]): KubeObject {
  const decisions = clusters.map((at) => ({ clusterName: `cluster-${at}` }));
  return ocmSlice(name, { [ocmLabels.placement]: name }, decisions);
}

const maxSetsPerNamespace = 4;

test("after any changes the sets select what they would select from the start, and everybody concerned is told", () => {
  assert(
    property(array(change, { maxLength: 30, size: "max" }), (changes) => {
      const sets = new Map<string, FleetSet>();
      const profiles = new Map<string, ClusterProfile>();
      const slices = new Map<string, KubeObject>();
      const sources = { profiles: () => profiles.values(), placements: () => slices.values() };
      const selections = new Selections({ sources, maxSetsPerNamespace });
      const world = { sets, profiles, slices, selections };
      for (const one of changes) {
        const before = new Map([...sets.values()].map((set) => [setId(set), viewOf(set, world)]));
        const told = apply(one, world);
        const rows = [...sets].map(([key, set]) => ({ key, set, view: viewOf(set, world) }));
        const missed = rows.filter(({ key, view }) => before.get(key) !== view && !told.has(key));
        expect(missed).toEqual([]);
        expect([...told].filter((key) => !sets.has(key))).toEqual([]);
        const oldest = oldestOf([...sets.values()]);
        const anew = rows.map(({ set }) =>
          clustersIn(
            isCounted(set) && !oldest.includes(set) ? undefined : findSelection(set, sources),
          ),
        );
        expect(rows.map(({ set }) => clustersIn(selections.of(set)))).toEqual(anew);
      }
    }),
    { numRuns: runsOf(4_000), seed },
  );
});

test("at the start a set that is being deleted takes no place of the oldest ones, and has its clusters", async () => {
  const profiles = [profileOf(0, "a")];
  const sources = { profiles: () => profiles, placements: () => undefined };
  const selections = new Selections({ sources, maxSetsPerNamespace });
  const sets = Array.from({ length: 6 }, (_, at) =>
    setOf({ index: at, group: "a", isPlaced: false, isDeleted: at === 0 }),
  );
  const byKey = new Map(sets.map((set) => [setId(set), set]));
  const { signal } = new AbortController();
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- it is no array
  await selections.fill(byKey, signal);
  expect(sets.map((set) => clustersIn(selections.of(set)).length)).toEqual([1, 1, 1, 1, 1, 0]);
});

test("sets of a cluster are told when another ClusterProfile makes a Placement select it", () => {
  // Of two ClusterProfiles of a ManagedCluster, both without its name, the one with the smaller uid counts.
  const both = [profileOf(1, "a", 2), profileOf(0, "b", 2)];
  const profiles = new Map(both.map((one) => [nameId(one.metadata), one]));
  const slices = [sliceOf("a", [2])];
  const sources = { profiles: () => profiles.values(), placements: () => slices };
  const selections = new Selections({ sources, maxSetsPerNamespace });
  const placed = setOf({ index: 0, group: "a", isPlaced: true, isDeleted: false });
  const other = setOf({ index: 1, group: "a", isPlaced: false, isDeleted: false });
  for (const set of [placed, other]) selections.put(set);
  expect([placed, other].map((set) => clustersIn(selections.of(set)))).toEqual([
    ["fleet/cluster-0"],
    ["fleet/cluster-1"],
  ]);
  profiles.set("fleet/cluster-5", profileOf(5, "b"));
  expect(selections.profileChanged("fleet/cluster-5", profileOf(5, "b"))).toEqual(new Set());
  expect(selections.placementsChanged("OCMPlacement")).toEqual(new Set());
  profiles.delete("fleet/cluster-0");
  const told = selections.profileChanged("fleet/cluster-0", undefined);
  expect(clustersIn(selections.of(placed))).toEqual(["fleet/cluster-1"]);
  expect(told).toEqual(new Set([placed, other].map(setId)));
});

test("the youngest set has its clusters as soon as there are no longer too many sets", () => {
  const profiles = [profileOf(0, "a")];
  const sources = { profiles: () => profiles, placements: () => undefined };
  const selections = new Selections({ sources, maxSetsPerNamespace });
  const sets = Array.from({ length: 5 }, (_, at) =>
    setOf({ index: at, group: "a", isPlaced: false, isDeleted: false }),
  );
  for (const set of sets) selections.put(set);
  const [oldest = example, youngest = example] = [sets[0], sets[4]];
  expect(clustersIn(selections.of(youngest))).toEqual([]);
  expect(selections.delete(oldest)).toContain(setId(youngest));
  expect(clustersIn(selections.of(youngest))).toEqual(["fleet/cluster-0"]);
});

interface World {
  readonly sets: Map<string, FleetSet>;
  readonly profiles: Map<string, ClusterProfile>;
  readonly slices: Map<string, KubeObject>;
  readonly selections: Selections;
}

/** Clusters of a set, and who else selects them. */
function viewOf(set: FleetSet, { selections }: World): string {
  const clusters = clustersIn(selections.of(set));
  const others = clusters.map((cluster) =>
    selections.on("KnativeServingSet", cluster).map((one) => one.set.metadata.name),
  );
  return JSON.stringify([clusters, others]);
}

function isCounted({ metadata }: FleetSet): boolean {
  return metadata.deletionTimestamp === undefined;
}

function oldestOf(sets: readonly FleetSet[]): readonly FleetSet[] {
  return sets
    .filter(isCounted)
    .toSorted(byText(({ metadata }) => metadata.uid))
    .slice(0, maxSetsPerNamespace);
}

function apply(one: Change, { sets, profiles, slices, selections }: World): ReadonlySet<string> {
  if (one.kind === "placement") {
    slices.set(one.group, sliceOf(one.group, one.clusters));
    return selections.placementsChanged("OCMPlacement");
  }
  const cluster = `fleet/cluster-${one.index}`;
  if (one.kind === "profile") {
    const profile = profileOf(one.index, one.group, one.of);
    profiles.set(cluster, profile);
    return selections.profileChanged(cluster, profile);
  }
  if (one.kind === "no profile") {
    profiles.delete(cluster);
    return selections.profileChanged(cluster, undefined);
  }
  const key = `KnativeServingSet fleet/set-${one.index}`;
  const known = sets.get(key);
  if (one.kind === "set") {
    const set = setOf(one);
    const generation = (known?.metadata.generation ?? 0) + 1;
    const changed = { ...set, metadata: { ...set.metadata, generation } };
    sets.set(key, changed);
    return selections.put(changed);
  }
  sets.delete(key);
  return known === undefined ? new Set() : selections.delete(known);
}

/** Sorted keys; none of an unusable selection. */
function clustersIn(selection: Selection | undefined): readonly string[] {
  if (selection?.kind !== "clusters") return [];
  return selection.clusters.map((one) => nameId(one)).toSorted();
}
