import { describe, expect, test } from "vitest";

import { ring, rolloutWith, SetWorld, stageOfRing } from "./set-world.ts";
import { completeWorld, minute, next, stages } from "./two-rings.ts";

test("a stage that began does not pass when its only cluster goes to another stage", () => {
  const clusters = [...ring("canary", 1), ...ring("rest", 2)];
  const world = new SetWorld(
    { stages },
    clusters.map((cluster) => ({
      ...cluster,
      fate: (version) => (version === "1.23.0" ? "stuck" : "ready"),
    })),
  );
  world.run(["Complete"]);
  world.edit(next);
  world.run(["Rolling"]);
  const canary = world.clusters.get("canary-1");
  if (canary === undefined) throw new Error("There is no canary");
  world.clusters.set("canary-1", { ...canary, labels: { ring: "rest" } });
  const { stamps, status } = world.settle();
  expect(stamps).toEqual([]);
  expect(status.rollout).toMatchObject({
    phase: "Rolling",
    stage: "canary",
    waitingFor:
      "Stage canary began and has no cluster left; let it select one, or take it out of the set",
  });
  world.pass(10 * minute);
  expect(world.settle().status.stages?.map(({ state }) => state)).toEqual(["Rolling", "Waiting"]);
});

test("a stage that was done and lost its clusters goes on to its gates", () => {
  const world = completeWorld({
    stages: [{ ...stageOfRing("canary"), after: { soak: "10m" } }, stageOfRing("rest")],
  });
  world.edit(next);
  while (world.settle().status.stages?.[0]?.state !== "Soaking") world.pass(10_000);
  for (const name of ["canary-1", "canary-2"]) {
    world.clusters.delete(name);
    world.children.delete(`fleet/${name}`);
  }
  expect(world.settle().status.stages?.[0]?.state).toBe("Soaking");
  world.pass(10 * minute);
  expect(world.settle().status.rollout?.stage).toBe("rest");
});

test("a stage that has not begun and is empty for a moment is not passed", () => {
  const world = completeWorld();
  const gone = ["canary-1", "canary-2"].map((name) => [name, world.clusters.get(name)] as const);
  for (const [name] of gone) world.clusters.delete(name);
  world.edit(next);
  world.settle();
  world.pass(minute - 1);
  expect(world.settle().status.rollout).toMatchObject({ phase: "Waiting", stage: "canary" });
  for (const [name, cluster] of gone) if (cluster !== undefined) world.clusters.set(name, cluster);
  expect(world.settle().status.rollout).toMatchObject({ phase: "Rolling", stage: "canary" });
  const versions = Object.entries(world.versions()).filter(([name]) => name.startsWith("rest"));
  expect(new Set(versions.map(([, version]) => version))).toEqual(new Set(["1.22.0"]));
});

test("an empty last stage is passed after a minute", () => {
  const world = new SetWorld({ stages }, ring("canary", 1));
  const { status } = world.run(["Complete"], 8);
  expect(status.stages?.map(({ state }) => state)).toEqual(["Passed", "Empty"]);
  expect(world.now).toBeGreaterThanOrEqual(Date.parse("2026-11-25T12:01:00Z"));
});

/** Takes clusters away and gives them back a second later. */
function blink(world: SetWorld, prefix: string): void {
  const all = [...world.clusters];
  for (const [name] of all) if (name.startsWith(prefix)) world.clusters.delete(name);
  expect(world.settle().status.rollout?.phase).not.toBe("Complete");
  for (const [name, cluster] of all) world.clusters.set(name, cluster);
  world.pass(1_000);
}

describe("when clusters vanish for one look", () => {
  const gated = [stageOfRing("canary"), { ...stageOfRing("rest"), before: { approval: true } }];

  test.each(["rest", ""])("no approval is passed by: %j", (prefix) => {
    const world = completeWorld();
    world.edit({ ...next, rollout: rolloutWith({ stages: gated }) });
    world.run(["AwaitingApproval"]);
    blink(world, prefix);
    const { stamps, status } = world.settle();
    expect(stamps).toEqual([]);
    expect(status.rollout).toMatchObject({ phase: "AwaitingApproval", stage: "rest" });
    const versions = Object.entries(world.versions()).filter(([name]) => name.startsWith("rest"));
    expect(new Set(versions.map(([, version]) => version))).toEqual(new Set(["1.22.0"]));
  });

  test("a stage that began and proved nothing stays as it is", () => {
    const world = completeWorld({ stages }, ["canary-1", "canary-2"]);
    world.edit(next);
    world.run(["Rolling"]);
    for (const name of ["canary-1", "canary-2"]) {
      world.clusters.delete(name);
      world.children.delete(`fleet/${name}`);
    }
    expect(world.settle().status.rollout?.stage).toBe("canary");
    const rest = [...world.clusters];
    world.clusters.clear();
    expect(world.settle().status.rollout).toMatchObject({
      phase: "Rolling",
      waitingFor: "Stage canary has no cluster; it is passed when that lasts for a minute",
    });
    for (const [name, cluster] of rest) world.clusters.set(name, cluster);
    blink(world, "");
    expect(world.settle().status.stages?.map(({ state }) => state)).toEqual(["Rolling", "Waiting"]);
  });
});

test("a stage of excluded clusters waits its minute before it begins, and goes on after", () => {
  const world = completeWorld({ stages }, ["canary-1", "canary-2"]);
  const exclude = [{ name: "canary-1" }, { name: "canary-2" }];
  world.edit({ ...next, clusters: { from: "Selector", exclude } });
  expect(world.settle().status.rollout).toMatchObject({ phase: "Waiting", stage: "canary" });
  world.edit({ clusters: { from: "Selector" } });
  world.run(["Rolling"]);
  world.edit({ clusters: { from: "Selector", exclude } });
  expect(world.settle().status.rollout?.stage).toBe("rest");
});
