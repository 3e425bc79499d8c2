import { expect, test } from "vitest";

import { decide } from "../../sets/decide.ts";
import { rolloutWith, stageOfRing } from "./set-world.ts";
import { completeWorld, next } from "./two-rings.ts";

test("a halted stage stays halted when all of its clusters leave for a moment", () => {
  const world = completeWorld({}, ["canary-1", "canary-2"]);
  world.edit(next);
  world.run(["Halted"]);
  const gone = ["canary-1", "canary-2"].map((name) => [name, world.clusters.get(name)] as const);
  for (const [name] of gone) world.clusters.delete(name);
  expect(world.settle().status.rollout).toMatchObject({
    phase: "Halted",
    waitingFor: expect.stringContaining("have left"),
  });
  for (const [name, cluster] of gone) if (cluster !== undefined) world.clusters.set(name, cluster);
  expect(world.settle().status.rollout?.phase).toBe("Halted");
  const versions = Object.entries(world.versions()).filter(([name]) => name.startsWith("rest"));
  expect(new Set(versions.map(([, version]) => version))).toEqual(new Set(["1.22.0"]));
});

test("a set that is deleted with Delete leaves excluded clusters what they have", () => {
  const world = completeWorld();
  world.edit({
    deletionPolicy: "Delete",
    clusters: { from: "Selector", exclude: [{ name: "rest-1" }] },
  });
  world.settle();
  const deletionTimestamp = "2026-11-25T13:00:00Z";
  world.set = { ...world.set, metadata: { ...world.set.metadata, deletionTimestamp } };
  const { removals } = world.decide();
  expect(removals.orphan.map(({ name }) => name)).toEqual(["prod-rest-1"]);
  expect(removals.remove.map(({ name }) => name)).not.toContain("prod-rest-1");
});

test("a stage that has begun waits for clusters that leave until their components have left", () => {
  const world = completeWorld({}, ["canary-1", "canary-2"]);
  world.edit({
    ...next,
    clusters: { from: "Selector" },
    whenUnselected: { policy: "Orphan", after: "10m", maxAtOnce: 5 },
  });
  world.run(["Rolling"]);
  const gone = ["canary-1", "canary-2"].map((name) => [name, world.clusters.get(name)] as const);
  for (const [name] of gone) world.clusters.delete(name);
  expect(world.settle().status.rollout).toMatchObject({
    phase: "Rolling",
    stage: "canary",
    waitingFor: "All clusters of stage canary leave the set",
  });
  world.pass(60_000);
  for (const [name, cluster] of gone) if (cluster !== undefined) world.clusters.set(name, cluster);
  expect(world.settle().status.rollout).toMatchObject({ phase: "Rolling", stage: "canary" });
  for (const [name] of gone) world.clusters.delete(name);
  world.settle();
  world.pass(540_000);
  expect(world.settle().status.rollout?.stage).toBe("canary");
  world.pass(60_000);
  world.settle();
  // Nothing has shown that the revision works: somebody has to decide.
  expect(world.settle().status.rollout).toMatchObject({
    phase: "Rolling",
    waitingFor:
      "Stage canary began and has no cluster left; let it select one, or take it out of the set",
  });
  world.edit({ rollout: rolloutWith({ stages: [stageOfRing("rest")] }) });
  expect(world.settle().status.rollout?.stage).toBe("rest");
});

test("of two components for a cluster the older one counts, in whichever order they are listed", () => {
  const world = completeWorld();
  const facts = world.facts();
  const [first] = facts.children;
  if (first === undefined) throw new Error("There are no components");
  const old = { ...first.metadata, creationTimestamp: "2026-11-01T00:00:00Z" };
  const young = { ...old, name: "prod-twin", creationTimestamp: "2026-11-02T00:00:00Z" };
  const twin = { ...first, metadata: { ...young, labels: {}, uid: "a" }, status: {} };
  const others = [{ ...first, metadata: old }, ...facts.children.slice(1)];
  for (const children of [
    [...others, twin],
    [twin, ...others],
  ]) {
    const { stamps, status } = decide({ ...facts, children }, world.now);
    expect(stamps).toEqual([]);
    expect(status.rollout?.phase).toBe("Complete");
  }
});

test("a new revision waits a minute for a stage whose clusters leave", () => {
  const world = completeWorld();
  for (const name of ["canary-1", "canary-2"]) world.clusters.delete(name);
  world.settle();
  world.edit(next);
  expect(world.settle()).toMatchObject({
    stamps: [],
    status: {
      rollout: {
        phase: "Waiting",
        stage: "canary",
        waitingFor: "Stage canary has no cluster; it is passed when that lasts for a minute",
      },
    },
    nextDecisionAt: world.now + 60_000,
  });
  world.pass(60_000);
  world.settle();
  expect(world.set.status?.stages?.[0]).toMatchObject({ name: "canary", state: "Empty" });
  expect(world.set.status?.rollout?.phase).toBe("Rolling");
});

test("a stage whose clusters all leave is not passed as empty when the status is lost", () => {
  const world = completeWorld();
  world.edit(next);
  world.settle();
  for (const name of ["canary-1", "canary-2"]) world.clusters.delete(name);
  world.set = { ...world.set, status: {} };
  const decision = world.decide();
  expect(decision.stamps).toEqual([]);
  expect(decision.status.rollout).toMatchObject({
    phase: "Waiting",
    waitingFor: "All clusters of stage canary leave the set",
  });
});

test("a soak that was halted begins anew when its clusters are well again", () => {
  const world = completeWorld({
    stages: [{ ...stageOfRing("canary"), after: { soak: "5m" } }, stageOfRing("rest")],
  });
  world.edit(next);
  while (world.settle().status.stages?.[0]?.state !== "Soaking") world.pass(10_000);
  const canary = world.clusters.get("canary-1");
  if (canary === undefined) throw new Error("There is no canary");
  world.clusters.set("canary-1", { ...canary, fate: () => "invalid" });
  world.pass(10_000);
  expect(world.settle().status.rollout?.phase).toBe("Halted");
  world.pass(600_000);
  world.clusters.set("canary-1", canary);
  world.pass(10_000);
  expect(world.settle().status.stages?.[0]).toMatchObject({ state: "Soaking" });
  world.pass(290_000);
  expect(world.settle().status.rollout?.stage).toBe("canary");
  world.pass(10_000);
  expect(world.settle().status.rollout?.stage).toBe("rest");
});
