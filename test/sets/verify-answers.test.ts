import { describe, expect, test } from "vitest";

import { stageOfRing } from "./set-world.ts";
import { bad, canaryOf, errorRate, good, passes, unasked, upgrading } from "./verified-set.ts";

test("a check that is bad now and then, within maxFailures, does not begin the soak anew for ever", () => {
  const stage = stageOfRing("canary", {
    maxConcurrency: 2,
    maxFailures: 1,
    after: { soak: "10m" },
  });
  const world = upgrading({ checks: [errorRate] }, { stages: [stage, stageOfRing("rest")] }, 2);
  const flaps = (): boolean => world.now % 120_000 < 20_000;
  world.reply = (cluster) => (cluster === "canary-1" && flaps() ? bad : good);
  passes(world, 300_000);
  // In between it is good for less than five minutes, so that it stays failed.
  for (let round = 0; round < 30; round += 1) {
    expect(world.set.status?.stages?.[0]).toMatchObject({ failed: 1, done: 1 });
    passes(world, 10_000);
  }
  passes(world, 300_000);
  expect(world.set.status?.stages?.[0]).toMatchObject({ state: "Passed" });
});

test("the record of a revision says how many clusters of a stage were verified", () => {
  const world = upgrading({ checks: [errorRate] });
  world.run(["Complete"]);
  const entries = world.revisions.at(-1)?.record?.filter(({ what }) => what === "pass");
  expect(entries?.map(({ stage, reason }) => `${stage}: ${reason}`)).toEqual([
    "canary: 1 of 1 clusters are done, 1 verified",
    "rest: 1 of 1 clusters are done, 1 verified",
  ]);
});

describe("answers that do not come", () => {
  test("a check that is never answered fails at the deadline", () => {
    const world = upgrading({ checks: [errorRate] }, { progressDeadline: "10m" });
    world.reply = () => undefined;
    world.lead();
    passes(world, 550_000);
    expect(canaryOf(world)).toContain("Verifying Verifying: Check error-rate: it is being asked");
    passes(world, 60_000);
    expect(canaryOf(world)).toContain("Halted | Failed CheckFailed: Check error-rate: it is being");
  });

  test("a process that begins to ask after the deadline gives the cluster the time of two questions", () => {
    const world = upgrading({ checks: [errorRate] }, { progressDeadline: "10m" });
    world.reply = () => unasked;
    passes(world, 500_000);
    world.lead();
    world.reply = () => undefined;
    world.pass(200_000);
    world.settle();
    passes(world, 80_000);
    expect(canaryOf(world)).toContain("Verifying Verifying: Check error-rate: it is being asked");
    world.reply = () => good;
    passes(world, 20_000);
    expect(canaryOf(world)).toContain("Done");
  });

  test("a good answer counts for two questions, and not for as long as nobody asks", () => {
    const world = upgrading({ checks: [{ ...errorRate, for: "5m" }] });
    passes(world, 60_000);
    world.reply = () => undefined;
    passes(world, 400_000);
    expect(canaryOf(world)).toContain(
      "Verifying Verifying: Check error-rate: its last answer is too old",
    );
    world.reply = () => good;
    passes(world, 280_000);
    expect(canaryOf(world)).toContain("good for too short a time yet");
    passes(world, 40_000);
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
  });
});
