import { describe, expect, test } from "vitest";

import { conditionOf } from "../../api/conditions.ts";
import { steering } from "../../api/fleet-set.ts";
import { ring, rolloutWith, stageOfRing } from "./set-world.ts";
import { completeWorld, next, updateOf } from "./two-rings.ts";

describe("rollout skip", () => {
  test("of a failed cluster ends the halt, and leaves the cluster as it is", () => {
    const world = completeWorld({}, ["canary-1"]);
    world.edit(next);
    world.run(["Halted"]);
    world.annotate(steering.skipClusters, `${updateOf(world)} fleet/canary-1`);
    const { status } = world.run(["Complete"]);
    expect(status.clusters).toMatchObject({ done: 6, excluded: 1 });
    // The next revision includes it again.
    world.edit({ template: { spec: { version: "1.22.1" } } });
    world.run(["Complete"]);
    expect(world.versions()["canary-1"]).toBe("1.22.1");
  });

  test("of another revision counts for nothing", () => {
    const world = completeWorld({}, ["canary-1"]);
    world.edit(next);
    world.annotate(steering.skipClusters, "prod-0123456789 fleet/canary-1");
    expect(world.run(["Halted"]).status.stages?.[0]?.state).toBe("Halted");
  });

  test("of a stage gives its clusters nothing, and the next stage begins without its gates", () => {
    const world = completeWorld();
    const gate = { approval: true };
    const gates = { before: gate, after: { ...gate, soak: "1h" } };
    const stages = [stageOfRing("canary", gates), stageOfRing("rest")];
    world.edit({ ...next, rollout: rolloutWith({ stages }) });
    world.run(["AwaitingApproval"]);
    world.annotate(steering.skipStages, `${updateOf(world)} canary`);
    world.run(["Complete"]);
    expect(world.versions()).toMatchObject({ "canary-1": "1.22.0", "rest-1": "1.23.0" });
  });
});

describe("rollout skip of all stages, or of all clusters", () => {
  const all = [...ring("canary", 2), ...ring("rest", 5)].map(({ name }) => `fleet/${name}`);
  test.each([
    [steering.skipStages, ["canary", "rest"]],
    [steering.skipClusters, all],
  ])("%s leaves a rollout that is not complete", (annotation, names) => {
    const world = completeWorld();
    world.edit(next);
    const revision = updateOf(world);
    world.annotate(annotation, [revision, ...names].join(" "));
    world.settle();
    world.pass(3_600_000);
    const { status } = world.settle();
    const waitingFor = `No cluster is left after rollout skip: none gets ${revision}`;
    expect(status.rollout).toMatchObject({ phase: "Blocked", waitingFor });
    expect(conditionOf(status.conditions, "Ready")?.status).toBe("False");
    expect(world.revisions.find(({ name }) => name === revision)?.completedNumber).toBeUndefined();
    world.annotate(annotation, undefined);
    world.run(["Complete"]);
    expect(world.versions()["rest-1"]).toBe("1.23.0");
  });
});

describe("rollout abort", () => {
  test("in the soak of the last stage holds when the soak is over", () => {
    const world = completeWorld();
    const soaked = [stageOfRing("canary"), stageOfRing("rest", { after: { soak: "1h" } })];
    world.edit({ ...next, rollout: rolloutWith({ stages: soaked }) });
    const revision = updateOf(world);
    world.run(["Soaking"]);
    while (world.settle().status.stages?.[1]?.state !== "Soaking") world.pass(10_000);
    world.annotate(steering.abort, `${revision} wrong registry`);
    expect(world.settle().status.rollout?.phase).toBe("Halted");
    world.pass(2 * 3_600_000);
    expect(world.settle().status.rollout?.phase).toBe("Halted");
    expect(world.revisions.find(({ name }) => name === revision)?.completedNumber).toBeUndefined();
  });

  test("starts no further cluster, and stays until somebody asks to go on", () => {
    const world = completeWorld();
    world.edit(next);
    world.settle();
    world.annotate(steering.abort, `${updateOf(world)} wrong registry`);
    const { status } = world.settle();
    expect(status.rollout).toMatchObject({
      phase: "Halted",
      waitingFor: "The rollout was aborted: wrong registry. No rollback: onFailure is Pause",
    });
    world.pass(3_600_000);
    expect(world.settle().stamps).toEqual([]);
    expect(world.set.status?.rollout?.phase).toBe("Halted");
    world.annotate(steering.retry, updateOf(world));
    world.run(["Complete"]);
    expect(world.versions()["rest-1"]).toBe("1.23.0");
  });

  test("goes back with onFailure: Rollback", () => {
    const world = completeWorld({ onFailure: "Rollback" });
    world.edit(next);
    world.run(["Rolling"]);
    world.pass(10_000);
    world.settle();
    world.annotate(steering.abort, `${updateOf(world)} wrong registry`);
    world.run(["RolledBack"]);
    expect(new Set(Object.values(world.versions()))).toEqual(new Set(["1.22.0"]));
  });

  test("of a complete revision, or of another one, counts for nothing", () => {
    const world = completeWorld();
    world.annotate(steering.abort, `${updateOf(world)} too late`);
    expect(world.settle().status.rollout?.phase).toBe("Complete");
    world.annotate(steering.abort, "prod-0123456789 another");
    world.edit(next);
    expect(world.run(["Complete"]).status.rollout?.phase).toBe("Complete");
  });
});
