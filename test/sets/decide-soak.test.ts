import { describe, expect, test } from "vitest";

import { ring, rolloutWith, SetWorld, stageOfRing } from "./set-world.ts";
import type { Fate } from "./status-after.ts";
import { minute } from "./two-rings.ts";

const canary = {
  maxConcurrency: 4,
  maxFailures: 1,
  maxUnreachable: 1,
  after: { soak: "10m" },
} as const;
const stages = [stageOfRing("canary", canary), stageOfRing("rest")];
const version = "1.23.0";
const template = { spec: { version, registry: { default: "$(cluster.labels[zone]:-a)" } } };

/** A set whose canary begins to soak with 1.23.0, and how its clusters take that version. */
function soaking() {
  const fates = new Map<string, Fate>();
  const clusters = [...ring("canary", 4), ...ring("rest", 1)].map((cluster) => ({
    ...cluster,
    fate: (of: string) => (of === version ? (fates.get(cluster.name) ?? "ready") : "ready"),
  }));
  const world = new SetWorld({ stages }, clusters);
  world.run(["Complete"]);
  world.edit({ template });
  world.run(["Soaking"]);
  return { world, fates };
}

type Scene = ReturnType<typeof soaking>;

function takes(fate: Fate, ...names: readonly string[]) {
  return ({ fates }: Scene): void => names.forEach((name) => fates.set(name, fate));
}

function blocks(...names: readonly string[]) {
  const obstacle = { reason: "Duplicate", message: "Another set has it" };
  return ({ world }: Scene): void =>
    names.forEach((name) => world.obstacles.set(`fleet/${name}`, obstacle));
}

function excludes({ world }: Scene): void {
  world.edit({ clusters: { from: "Selector", exclude: [{ name: "canary-1" }] } });
}

function relabels({ world }: Scene): void {
  const cluster = world.clusters.get("canary-1");
  if (cluster === undefined) throw new Error("There is no canary");
  world.clusters.set("canary-1", { ...cluster, labels: { ...cluster.labels, zone: "b" } });
}

function joins({ world }: Scene): void {
  for (const cluster of ring("canary", 5)) {
    if (!world.clusters.has(cluster.name)) world.clusters.set(cluster.name, cluster);
  }
}

/** Five minutes after the begin of a soak something happens for a minute: how many minutes after its begin the canary is passed. */
function passedAfter(happens: (scene: Scene) => void): number {
  const scene = soaking();
  const { world, fates } = scene;
  const from = world.now;
  const passes = (ms: number): void => {
    for (let left = ms; left > 0; left -= 10_000) {
      world.pass(10_000);
      world.settle();
    }
  };
  passes(5 * minute);
  happens(scene);
  passes(minute);
  fates.clear();
  world.obstacles.clear();
  for (let left = 60; left > 0 && world.set.status?.stages?.[0]?.state !== "Passed"; left -= 1)
    passes(10_000);
  return (world.now - from) / minute;
}

describe("a soak of ten minutes", () => {
  test.each([
    ["nothing", () => undefined],
    ["as many dark clusters as may be", takes("dark", "canary-1")],
    ["as many blocked clusters as may be", blocks("canary-1")],
    ["a cluster that somebody excludes", excludes],
    ["a cluster that is stamped with another value", relabels],
    ["a cluster that joins", joins],
  ])("goes on with %s", (_, happens) => {
    expect(passedAfter(happens)).toBe(10);
  });

  test.each([
    ["cluster that is not ready", takes("stuck", "canary-1")],
    ["dark cluster more than may be", takes("dark", "canary-1", "canary-2")],
    ["blocked cluster more than may be", blocks("canary-1", "canary-2")],
    ["failed cluster more than may be", takes("invalid", "canary-1", "canary-2")],
  ])("begins again after a %s", (_, happens) => {
    expect(passedAfter(happens)).toBeCloseTo(16, 0);
  });

  test("begins again when a cluster fails, also one that may", () => {
    expect(passedAfter(takes("invalid", "canary-1"))).toBeCloseTo(15, 0);
  });
});

test("a soak goes on with a cluster that failed before, also under another leader", () => {
  const { world, fates } = soaking();
  fates.set("canary-1", "invalid");
  world.edit({ rollout: rolloutWith({ stages }), template: { spec: { version } } });
  world.run(["Soaking"]);
  const { doneAt } = world.set.status?.stages?.[0] ?? {};
  expect(doneAt).toBeDefined();
  world.pass(5 * minute);
  world.settle();
  world.lead();
  world.pass(minute);
  world.settle();
  expect(world.set.status?.stages?.[0]).toMatchObject({ state: "Soaking", failed: 1, doneAt });
});
