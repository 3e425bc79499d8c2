import { describe, expect, test } from "vitest";

import type { ConnectionError } from "../../../access/kube/api-error.ts";
import { type ClusterKeep, KeepBudget, sizeOf } from "../../../access/kube/keep-budget.ts";

/** Small limits, and the clusters that exceeded them. */
function world(sharedPerCluster = 0) {
  const budget = new KeepBudget({
    kind: { objects: 3, bytes: 50 },
    cluster: { objects: 4, bytes: 80 },
    own: 20,
    shared: 100,
    sharedPerCluster,
  });
  const exceeded: string[] = [];
  const cluster = (name: string): ClusterKeep =>
    budget.cluster((error: ConnectionError) => void exceeded.push(`${name} ${error.failure}`));
  return { cluster, exceeded };
}

describe("what watches keep", () => {
  test("is within the limits of a kind, of a cluster and of all", () => {
    const { cluster, exceeded } = world();
    for (const name of ["a", "b", "c", "d"]) {
      const keep = cluster(name);
      keep.open("pods").add(40);
      keep.open("jobs").add(5);
    }
    expect(exceeded).toEqual([]);
  });

  test.each([
    { what: "a kind with too many objects", sizes: [1, 1, 1, 1] },
    { what: "a kind that takes too much", sizes: [25, 26] },
  ])("of $what costs its cluster everything", ({ sizes }) => {
    const { cluster, exceeded } = world();
    const keep = cluster("a");
    const [last = 0, ...first] = sizes.toReversed();
    const hold = keep.open("pods");
    for (const size of first) hold.add(size);
    expect(exceeded).toEqual([]);
    expect(() => hold.add(last)).toThrow("pods");
    expect(exceeded).toEqual(["a tooLarge"]);
    expect(() => keep.open("jobs").add(1)).toThrow("pods");
    expect(exceeded).toEqual(["a tooLarge"]);
  });

  test.each([
    { what: "many kinds with too many objects", sizes: [1, 1, 1, 1, 1] },
    { what: "many kinds that take too much", sizes: [40, 41] },
  ])("of $what costs the cluster everything", ({ sizes }) => {
    const { cluster, exceeded } = world();
    const keep = cluster("a");
    const [last = 0, ...first] = sizes.toReversed();
    for (const [index, size] of first.entries()) keep.open(`kind ${index}`).add(size);
    expect(exceeded).toEqual([]);
    expect(() => keep.open("jobs").add(last)).toThrow("objects with our label");
    expect(exceeded).toEqual(["a tooLarge"]);
  });

  test("of all clusters beyond their own part costs the one that keeps most, not the one that comes", () => {
    const { cluster, exceeded } = world();
    cluster("a").open("pods").add(50);
    const most = cluster("most");
    for (const kind of ["pods", "jobs"]) most.open(kind).add(38);
    cluster("honest").open("pods").add(20);
    expect(exceeded).toEqual([]);
    cluster("last").open("pods").add(40);
    expect(exceeded).toEqual(["most tooLarge"]);
    cluster("another").open("pods").add(50);
    expect(exceeded).toEqual(["most tooLarge"]);
  });

  test("of all clusters may be more where many clusters keep little, and less again when they go", () => {
    const { cluster, exceeded } = world(1);
    const modest = Array.from({ length: 20 }, (_, index) =>
      cluster(`modest ${index}`).open("pods"),
    );
    for (const hold of modest) hold.add(20);
    for (const name of ["a", "b", "c", "d"]) cluster(name).open("pods").add(50);
    expect(exceeded).toEqual([]);
    modest[0]?.[Symbol.dispose]();
    cluster("e").open("pods").add(20);
    expect(exceeded).toEqual([]);
    for (const hold of modest) hold[Symbol.dispose]();
    cluster("f").open("pods").add(21);
    expect(exceeded).toEqual(["a tooLarge"]);
  });

  test("is closed for those that lie, however many, before it is for those that keep little", () => {
    const { cluster, exceeded } = world(1);
    for (let index = 0; index < 10; index += 1) cluster("modest").open("pods").add(20);
    for (let index = 0; index < 50; index += 1) cluster("liar").open("pods").add(50);
    // (100 + 10) / 30
    expect(exceeded).toEqual(Array.from({ length: 47 }, () => "liar tooLarge"));
  });

  test("of 300 honest clusters with 3 MB each costs none of them anything", () => {
    const exceeded: string[] = [];
    const budget = new KeepBudget();
    for (let index = 0; index < 300; index += 1) {
      const keep = budget.cluster(() => void exceeded.push("honest"));
      keep.open("pods").add(3_500_000);
    }
    expect(exceeded).toEqual([]);
  });

  test("of 40 clusters that lie is 192 MiB at most", () => {
    const kept = new Map<number, number>();
    const budget = new KeepBudget();
    for (let index = 0; index < 40; index += 1) {
      const keep = budget.cluster(() => void kept.delete(index));
      const hold = keep.open("pods");
      for (let mib = 1; mib <= 8; mib += 1) {
        kept.set(index, mib);
        hold.add(1024 * 1024);
      }
    }
    const total = [...kept.values()].reduce((sum, mib) => sum + mib, 0);
    expect(total).toBeLessThanOrEqual(192);
  });

  test("is given back with an object, and with a watch", () => {
    const { cluster, exceeded } = world();
    const keep = cluster("a");
    const hold = keep.open("pods");
    for (let turn = 0; turn < 10; turn += 1) {
      hold.add(45);
      hold.remove(45);
      const other = keep.open("jobs");
      other.add(45);
      other[Symbol.dispose]();
    }
    expect(exceeded).toEqual([]);
  });

  test("is too much as soon as a list has more objects than may be kept", () => {
    const { cluster, exceeded } = world();
    const hold = cluster("a").open("pods");
    hold.foresee(3);
    expect(() => hold.foresee(4)).toThrow("more than 3 pods");
    expect(exceeded).toEqual(["a tooLarge"]);
  });
});

test("the size of an object counts all its texts and names", () => {
  const small = sizeOf({ a: "" });
  expect(sizeOf({ a: "x".repeat(100) }) - small).toBe(200);
  expect(sizeOf({ ["a".repeat(101)]: "" }) - small).toBe(100);
  expect(sizeOf({ a: "", b: { c: ["x".repeat(100)] } }) - small).toBeGreaterThan(200);
});
