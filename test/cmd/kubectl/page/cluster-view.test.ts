import { describe, expect, test } from "vitest";

import { clusterKey, clusterView } from "../../../../cmd/kubectl/page/cluster-view.ts";
import { itemOf } from "./sample-items.ts";

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
  const view = clusterView(items, "fleet/eu-1", beginning);
  expect(view?.title).toBe("fleet/eu-1");
  expect(view?.rows.map(({ item }) => item.name)).toEqual(["a", "c"]);
  expect(view?.facts).toEqual([
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
  const view = clusterView(items, "fleet/eu-2", { ...beginning, isRecorded: true });
  expect(view?.facts).toEqual([]);
  expect(view?.next.map(({ command }) => command)).toEqual([
    "kubectl knfleet --context hub diagnose -A --cluster fleet/eu-2",
  ]);
});

describe("a key", () => {
  test.each(["", "eu-1", "fleet/eu-3", "fleet", "/", "null"])("%j names no cluster", (key) => {
    expect(clusterView(items, key, beginning)).toBeUndefined();
  });

  test("is part of an address, whatever the name is", () => {
    expect(clusterKey({ namespace: "a", name: "b/c#<d>" })).toBe("a/b%2Fc%23%3Cd%3E");
  });
});
