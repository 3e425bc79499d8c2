import { expect, test } from "vitest";

import { type PlacementDecision, placementSets } from "../../access/providers/placement.ts";
import { ring, SetWorld } from "./set-world.ts";

const names = ["a-1", "a-2"] as const;
const second = 1_000;

/** A set on two clusters that a decision names, and that removes what has been unselected for ten minutes. */
function placedWorld(): SetWorld {
  const world = new SetWorld({}, ring("a", names.length));
  world.edit({ whenUnselected: { policy: "Delete", maxAtOnce: 5 } });
  place(world, [["a-1"], ["a-2"]]);
  world.run(["Complete"]);
  expect(world.children.size).toBe(names.length);
  return world;
}

/** Gives the set what the slices of its decision say now. */
function place(world: SetWorld, slices: readonly (readonly string[])[]): void {
  const decisions = slices.map((members, index): PlacementDecision => ({
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "PlacementDecision",
    metadata: {
      namespace: "fleet",
      name: `slice-${index}`,
      uid: `slice-${index}`,
      resourceVersion: "1",
      labels: {
        "multicluster.x-k8s.io/decision-key": "k",
        "multicluster.x-k8s.io/decision-index": String(index),
      },
    },
    decisions: members.map((name) => ({ clusterProfileRef: { namespace: "fleet", name } })),
  }));
  const clusters = placementSets(decisions)[0]?.clusters ?? [];
  world.selection = { kind: "clusters", clusters };
}

test("D06: clusters of a deleted slice keep their component until they were unselected for long enough", () => {
  const world = placedWorld();
  place(world, [["a-1"]]);
  world.settle();
  world.pass(599 * second);
  world.settle();
  expect(world.children.size).toBe(2);
  world.pass(2 * second);
  world.settle();
  expect(Object.keys(world.versions())).toEqual(["a-1"]);
});

test("D08: a cluster that moves from one slice to another is never removed", () => {
  const world = placedWorld();
  place(world, [["a-1"], []]);
  world.settle();
  world.pass(4 * second);
  place(world, [["a-1"], [], ["a-2"]]);
  world.settle();
  world.pass(3_600 * second);
  world.settle();
  expect(world.children.size).toBe(2);
});
