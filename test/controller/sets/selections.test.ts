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

import { reflectorKey } from "../../../access/kube/kept-objects.ts";
import { type ClusterProfile, isClusterProfile } from "../../../api/cluster-profile.ts";
import { byText } from "../../../api/fields.ts";
import type { FleetSet } from "../../../api/fleet-set.ts";
import { findSelection } from "../../../controller/sets/find-selection.ts";
import { Selections } from "../../../controller/sets/selections.ts";
import { setKeyOf } from "../../../controller/sets/set-caches.ts";
import type { Selection } from "../../../sets/facts.ts";
import { SetWorld } from "../../sets/set-world.ts";

const { set: example } = new SetWorld({}, []);
const groups = ["a", "b", "c"] as const;
const group = constantFrom(...groups);
const index = nat(5);

/** What happens to a set or a ClusterProfile. */
type Change =
  | { kind: "set"; index: number; group: string; isDeleted: boolean }
  | { kind: "profile"; index: number; group: string }
  | { kind: "no set" | "no profile"; index: number };

const change: Arbitrary<Change> = oneof(
  record({ kind: constant("set" as const), index, group, isDeleted: boolean() }),
  record({ kind: constantFrom("no set" as const, "no profile" as const), index }),
  record({ kind: constant("profile" as const), index, group }),
);

function setOf(at: number, matched: string, isDeleted: boolean): FleetSet {
  const name = `set-${at}`;
  const selector = { matchLabels: { group: matched } };
  return {
    ...example,
    metadata: {
      ...example.metadata,
      name,
      uid: name,
      creationTimestamp: `2026-11-0${at + 1}T00:00:00Z`,
      ...(isDeleted ? { deletionTimestamp: "2026-12-01T00:00:00Z" } : {}),
    },
    spec: { ...example.spec, clusters: { from: "Selector", selector } },
  };
}

function profileOf(at: number, label: string): ClusterProfile {
  const name = `cluster-${at}`;
  const profile = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      namespace: "fleet",
      name,
      uid: name,
      resourceVersion: "1",
      labels: { group: label },
    },
  };
  if (!isClusterProfile(profile)) throw new Error("No ClusterProfile");
  return profile;
}

const maxSetsPerNamespace = 4;

test("after any changes the sets select what they would select from the start, and everybody concerned is told", () => {
  assert(
    property(array(change, { maxLength: 30 }), (changes) => {
      const sets = new Map<string, FleetSet>();
      const profiles = new Map<string, ClusterProfile>();
      const sources = { profiles: () => profiles.values(), placements: () => undefined };
      const selections = new Selections({ sources, maxSetsPerNamespace });
      const world = { sets, profiles, selections };
      for (const one of changes) {
        const before = new Map(
          [...sets.values()].map((set) => [setKeyOf(set), viewOf(set, world)]),
        );
        const told = apply(one, world);
        const rows = [...sets].map(([key, set]) => ({ key, set, view: viewOf(set, world) }));
        const missed = rows.filter(({ key, view }) => before.get(key) !== view && !told.has(key));
        expect(missed).toEqual([]);
        const oldest = oldestOf([...sets.values()]);
        const anew = rows.map(({ set }) =>
          clustersIn(
            isCounted(set) && !oldest.includes(set) ? undefined : findSelection(set, sources),
          ),
        );
        expect(rows.map(({ set }) => clustersIn(selections.of(set)))).toEqual(anew);
      }
    }),
  );
});

test("at the start a set that is being deleted takes no place of the oldest ones, and has its clusters", async () => {
  const profiles = [profileOf(0, "a")];
  const sources = { profiles: () => profiles, placements: () => undefined };
  const selections = new Selections({ sources, maxSetsPerNamespace });
  const sets = Array.from({ length: 6 }, (_, at) => setOf(at, "a", at === 0));
  const byKey = new Map(sets.map((set) => [setKeyOf(set), set]));
  const { signal } = new AbortController();
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- it is no array
  await selections.fill(byKey, signal);
  expect(sets.map((set) => clustersIn(selections.of(set)).length)).toEqual([1, 1, 1, 1, 1, 0]);
});

interface World {
  readonly sets: Map<string, FleetSet>;
  readonly profiles: Map<string, ClusterProfile>;
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

function apply(one: Change, { sets, profiles, selections }: World): ReadonlySet<string> {
  const cluster = `fleet/cluster-${one.index}`;
  if (one.kind === "profile") {
    const profile = profileOf(one.index, one.group);
    profiles.set(cluster, profile);
    return selections.profileChanged(cluster, profile);
  }
  if (one.kind === "no profile") {
    profiles.delete(cluster);
    return selections.profileChanged(cluster, undefined);
  }
  const set =
    one.kind === "set" ? setOf(one.index, one.group, one.isDeleted) : setOf(one.index, "a", false);
  const key = setKeyOf(set);
  if (one.kind === "set") {
    const generation = (sets.get(key)?.metadata.generation ?? 0) + 1;
    const changed = { ...set, metadata: { ...set.metadata, generation } };
    sets.set(key, changed);
    return selections.put(changed);
  }
  const known = sets.get(key);
  sets.delete(key);
  return known === undefined ? new Set() : selections.delete(known);
}

/** Sorted keys; none of an unusable selection. */
function clustersIn(selection: Selection | undefined): readonly string[] {
  if (selection?.kind !== "clusters") return [];
  return selection.clusters.map((one) => reflectorKey(one)).toSorted();
}
