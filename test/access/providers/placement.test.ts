import { expect, test } from "vitest";

import { type PlacementDecision, placementSets } from "../../../access/providers/placement.ts";
import { nameId } from "../../../api/keys.ts";

type Reference = { readonly namespace?: string; readonly name?: string };

interface SliceLabels {
  readonly key?: string;
  readonly index?: string;
  readonly revision?: string;
}

function slice(
  name: string,
  references: readonly Reference[] | null,
  labels: SliceLabels = { key: "k" },
): PlacementDecision {
  const named = Object.entries(labels).map(([label, value]: [string, string]) => [
    `multicluster.x-k8s.io/decision-${label}`,
    value,
  ]);
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "PlacementDecision",
    metadata: {
      namespace: "fleet",
      name,
      uid: name,
      resourceVersion: "1",
      labels: Object.fromEntries(named),
    },
    decisions: references?.map((clusterProfileRef) => ({ clusterProfileRef })) ?? null,
  };
}

function clustersOf(...slices: readonly PlacementDecision[]): readonly (readonly string[])[] {
  return placementSets(slices).map(({ clusters }) => clusters.map(nameId));
}

test("D02: 250 clusters in three slices are in the order of the slices, however these come", () => {
  const names = Array.from({ length: 250 }, (_, at) => `c${at}`);
  const slices = ["0", "1", "2"].map((index, at) =>
    slice(
      `s-${9 - at}`,
      names.slice(at * 100, at * 100 + 100).map((name) => ({ name })),
      {
        key: "k",
        index,
      },
    ),
  );
  const expected = [names.map((name) => `fleet/${name}`)];
  const [a, b, c] = slices;
  if (a === undefined || b === undefined || c === undefined) throw new Error("Three slices");
  for (const order of [
    [a, b, c],
    [c, a, b],
    [b, c, a],
    [c, b, a],
  ]) {
    expect(clustersOf(...order)).toEqual(expected);
  }
});

test("D02: the tenth slice comes after the ninth, and one without a number last", () => {
  const indexes = ["10", "none", "9"].map((index) =>
    slice(`s${index}`, [{ name: index }], { key: "k", index }),
  );
  expect(clustersOf(...indexes)).toEqual([["fleet/9", "fleet/10", "fleet/none"]]);
});

test("D03: a reference without a namespace is in that of its decision", () => {
  expect(
    clustersOf(
      slice("s", [{ name: "a" }, { namespace: "", name: "b" }, { namespace: "x", name: "a" }]),
    ),
  ).toEqual([["fleet/a", "fleet/b", "x/a"]]);
});

test("D04: a reference in two slices counts once, where it is first", () => {
  const first = slice("s0", [{ name: "a" }, { name: "b" }], { key: "k", index: "0" });
  const second = slice("s1", [{ name: "c" }, { namespace: "fleet", name: "a" }], {
    key: "k",
    index: "1",
  });
  expect(clustersOf(second, first)).toEqual([["fleet/a", "fleet/b", "fleet/c"]]);
});

test("D05: two decisions in one namespace are two sets, and a slice without a key is its own", () => {
  const slices = [
    slice("s0", [{ name: "a" }], { key: "one" }),
    slice("s1", [{ name: "b" }], { key: "two" }),
    slice("s2", [{ name: "c" }], {}),
    slice("s3", [{ name: "d" }], {}),
    slice("s4", [{ name: "e" }], { key: "one" }),
  ];
  expect(clustersOf(...slices)).toEqual([
    ["fleet/a", "fleet/e"],
    ["fleet/b"],
    ["fleet/c"],
    ["fleet/d"],
  ]);
  expect(placementSets(slices).map(({ key }) => key)).toEqual(["one", "two", "s2", "s3"]);
});

test("D05: of two revisions of one decision the newer one counts alone", () => {
  const slices = ["9", "10"].map((revision) =>
    slice(`s${revision}`, [{ name: `c${revision}` }], { key: "k", revision }),
  );
  expect(clustersOf(...slices)).toEqual([["fleet/c10"]]);
});

test("D07: a decision for no cluster is a set without members", () => {
  expect(clustersOf(slice("s", []))).toEqual([[]]);
  expect(clustersOf(slice("s", null), slice("t", [{}]))).toEqual([[]]);
  expect(placementSets([])).toEqual([]);
});
