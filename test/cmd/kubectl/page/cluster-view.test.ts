import { describe, expect, test } from "vitest";

import {
  clusterKey,
  clusterRows,
  clusterView,
  factsOfCluster,
} from "../../../../cmd/kubectl/page/cluster-view.ts";
import { clusterOf, itemOf } from "./sample-items.ts";

const beginning = { knfleet: "kubectl knfleet --context hub", isRecorded: false };
const items = [
  itemOf({ name: "a", cluster: "eu-1" }),
  itemOf({ name: "b", cluster: "eu-2" }),
  itemOf({
    name: "c",
    cluster: "eu-1",
    live: { provider: "secretreader", server: "https://eu-1", kubernetesVersion: "v1.36.3" },
  }),
  itemOf({ name: "d", cluster: null }),
];

test("a cluster has its installations, and what one of them knows of it", () => {
  const view = clusterView("fleet/eu-1", { items, clusters: [] }, beginning);
  expect(view?.title).toBe("fleet/eu-1");
  expect(view?.rows.map(({ item }) => item.name)).toEqual(["a", "c"]);
  expect(view?.facts).toEqual([
    ["State", "Reachable"],
    ["Provider", "secretreader"],
    ["Server", "https://eu-1"],
    ["Kubernetes", "v1.36.3"],
  ]);
  expect(view?.next.map(({ command }) => command)).toEqual([
    "kubectl knfleet --context hub diagnose fleet/eu-1",
    "kubectl knfleet --context hub connect fleet/eu-1",
  ]);
});

test("what nobody knows is left out, and a bundle cannot be connected to", () => {
  const view = clusterView(
    "fleet/eu-2",
    { items, clusters: [] },
    { ...beginning, isRecorded: true },
  );
  expect(view).toMatchObject({ facts: [["State", "Not known"]], why: null });
  expect(view?.next.map(({ command }) => command)).toEqual([
    "kubectl knfleet --context hub diagnose -A --cluster fleet/eu-2",
  ]);
});

describe("a key", () => {
  test.each(["", "eu-1", "fleet/eu-3", "fleet", "/", "null"])("%j names no cluster", (key) => {
    expect(clusterView(key, { items, clusters: [] }, beginning)).toBeUndefined();
  });

  test("is part of an address, whatever the name is", () => {
    expect(clusterKey({ namespace: "a", name: "b/c#<d>" })).toBe("a/b%2Fc%23%3Cd%3E");
  });
});

const dead = itemOf({
  name: "e",
  cluster: "spoke-1",
  live: { state: "Unreachable", message: "Nobody answers" },
});
const unwell = clusterOf({ name: "us-1", healthy: false, message: "The kubelet is gone" });
const clusters = [clusterOf({}), clusterOf({ name: "eu-9" }), unwell];

test("a dead cluster has its state, provider, server and the version that was known last", () => {
  const known = [
    ["Provider", "secretreader"],
    ["Server", "https://spoke-1.example:6443"],
    ["Kubernetes", "1.36.1 (last known)"],
  ];
  expect(clusterView("fleet/spoke-1", { items: [dead], clusters }, beginning)).toMatchObject({
    facts: [["State", "Unreachable"], ...known],
    why: "Nobody answers",
    tone: "unreachable",
  });
  expect(factsOfCluster(dead, clusters)).toEqual(known);
  expect(factsOfCluster(itemOf({ cluster: null }), clusters)).toEqual([]);
});

test("all clusters are listed, also those without installations, and first those that need somebody", () => {
  const rows = clusterRows({ items: [...items, dead], clusters });
  expect(rows.map(({ title, state, items: own }) => [title, state.text, own.length])).toEqual([
    ["fleet/spoke-1", "Unreachable", 1],
    ["fleet/us-1", "Not healthy", 0],
    ["fleet/eu-1", "Reachable", 2],
    ["fleet/eu-2", "Not known", 1],
    ["fleet/eu-9", "Healthy", 0],
  ]);
});

test("a cluster without installations has a page, which says why it is not well", () => {
  const view = clusterView("fleet/us-1", { items, clusters }, beginning);
  expect(view).toMatchObject({ rows: [], why: "The kubelet is gone", tone: "bad" });
  expect(view?.facts).toContainEqual(["Kubernetes", "1.36.1"]);
});
