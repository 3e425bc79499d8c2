import { describe, expect, test } from "vitest";

import { checksOf, verifyOf } from "../../sets/verify.ts";
import { ring, SetWorld, stageOfRing } from "./set-world.ts";
import {
  bad,
  canaryOf,
  errorRate,
  good,
  passes,
  unasked,
  upgrading,
  workloads,
} from "./verified-set.ts";

describe("a cluster that is ready is done when its checks are answered well", () => {
  test("the workloads, half a minute after they were first found well", () => {
    const world = upgrading(workloads);
    expect(canaryOf(world)).toMatch(/^Rolling \| Verifying Verifying: Check workloads: it is /);
    passes(world, 20_000);
    expect(canaryOf(world)).toContain("good for too short a time yet");
    passes(world, 20_000);
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
  });

  test("and not by one answer alone: a second one has to say the same", () => {
    const world = upgrading(workloads);
    world.settle();
    world.settle();
    world.reply = () => undefined;
    passes(world, 50_000);
    expect(canaryOf(world)).toContain("good for too short a time yet");
    world.reply = () => good;
    passes(world, 20_000);
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
  });

  test("the workloads are asked more often where they may be broken for a short time only", () => {
    const intervals = ["3m", "20s", "1s"].map(
      (within) => checksOf({ workloads: { maxNewlyBroken: 0, within } })[0]?.intervalMs,
    );
    expect(intervals).toEqual([30_000, 20_000, 5_000]);
  });

  test("another check, when the answer was good for as long as it says", () => {
    const world = upgrading({ checks: [{ ...errorRate, for: "5m" }] });
    passes(world, 290_000);
    expect(canaryOf(world)).toContain("Verifying");
    passes(world, 20_000);
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
  });

  test("and while they are asked it holds its slot, and the next canary waits", () => {
    const stage = stageOfRing("canary", { maxConcurrency: 1 });
    const world = upgrading(workloads, { stages: [stage, stageOfRing("rest")], order: "Name" }, 2);
    world.settle();
    expect(world.set.status?.clusters?.["verifying"]).toBe(1);
    expect(world.set.status?.stages?.[0]).toMatchObject({ state: "Rolling", updating: 1 });
    const one = { "canary-1": "1.23.0", "canary-2": "1.22.0", "rest-1": "1.22.0" };
    expect(world.versions()).toEqual(one);
    passes(world, 20_000);
    expect(world.versions()).toEqual(one);
    passes(world, 30_000);
    expect(world.versions()).toEqual({ ...one, "canary-2": "1.23.0" });
  });

  test("a check of the stage stands in place of that of the rollout", () => {
    const { set } = upgrading(workloads, {
      stages: [stageOfRing("canary", { verify: { checks: [errorRate] } }), stageOfRing("rest")],
    });
    const names = (stage: string) => checksOf(verifyOf(set, stage) ?? {}).map(({ name }) => name);
    expect([names("canary"), names("rest")]).toEqual([["error-rate"], ["workloads"]]);
  });

  test("nothing is asked where nothing is to be asked", () => {
    const { set } = upgrading({});
    expect(verifyOf(set, "canary")).toBeUndefined();
    const world = upgrading({});
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
  });
});

// Spec: verify.md 3.
test("clusters that are verified in stages cost the hub at most three writes each", () => {
  const rest = stageOfRing("rest", { maxConcurrency: "10%" });
  const stages = [stageOfRing("canary", { maxConcurrency: "10%" }), rest];
  const clusters = [...ring("canary", 5), ...ring("rest", 45)];
  const world = new SetWorld({ stages, verify: workloads }, clusters);
  world.reply = () => good;
  world.run(["Complete"]);
  const before = world.writes;
  world.edit({ template: { spec: { version: "1.23.0" } } });
  world.run(["Complete"]);
  expect(new Set(Object.values(world.versions()))).toEqual(new Set(["1.23.0"]));
  expect(world.writes - before).toBeLessThanOrEqual(3 * clusters.length);
});

describe("a check that fails halts the rollout at the canary", () => {
  test("workloads that stay broken for as long as they may be", () => {
    const world = upgrading(workloads);
    world.reply = () => bad;
    passes(world, 170_000);
    expect(canaryOf(world)).toBe(
      "Rolling | Verifying Verifying: Check workloads: Service shop/cart broke | verifying 1",
    );
    passes(world, 20_000);
    expect(canaryOf(world)).toBe(
      "Halted | Failed WorkloadsBroken: Check workloads: Service shop/cart broke | verifying 0",
    );
    passes(world, 3_600_000);
    expect(world.versions()).toEqual({ "canary-1": "1.23.0", "rest-1": "1.22.0" });
  });

  test("workloads that are well again in time halt nothing", () => {
    const world = upgrading(workloads);
    world.reply = () => bad;
    passes(world, 100_000);
    world.reply = () => good;
    passes(world, 60_000);
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
  });

  test("another check at its first bad answer", () => {
    const world = upgrading({ checks: [{ ...errorRate, for: "5m" }] });
    passes(world, 60_000);
    world.reply = () => bad;
    passes(world, 10_000);
    expect(canaryOf(world)).toBe(
      "Halted | Failed CheckFailed: Check error-rate: Service shop/cart broke | verifying 0",
    );
  });

  test("a check that cannot be asked, at the deadline", () => {
    const world = upgrading(workloads, { progressDeadline: "10m" });
    world.reply = () => unasked;
    passes(world, 580_000);
    expect(canaryOf(world)).toContain("Verifying Verifying: Check workloads: it has no answer");
    passes(world, 20_000);
    expect(canaryOf(world)).toBe(
      "Halted | Failed WorkloadsBroken: Check workloads: it has no answer: no answer | verifying 0",
    );
  });

  test("with onFailure Rollback the canary goes back, and is not verified on that way", () => {
    const world = upgrading({ checks: [errorRate] }, { onFailure: "Rollback" });
    world.reply = () => bad;
    world.run(["RolledBack"]);
    expect(world.versions()).toEqual({ "canary-1": "1.22.0", "rest-1": "1.22.0" });
    expect(world.set.status?.notable ?? []).toEqual([]);
  });

  test("in the soak, too", () => {
    const world = upgrading({ checks: [errorRate] });
    passes(world, 120_000);
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
    world.reply = () => bad;
    passes(world, 20_000);
    expect(canaryOf(world)).toContain("Halted | Failed CheckFailed");
  });

  test("the halt ends when the answer was good for five minutes", () => {
    const world = upgrading({ checks: [errorRate] });
    world.reply = () => bad;
    passes(world, 20_000);
    expect(canaryOf(world)).toContain("Halted");
    world.reply = () => good;
    passes(world, 280_000);
    expect(canaryOf(world)).not.toContain("Soaking");
    passes(world, 60_000);
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
  });
});

test("another process that leads ends no halt before it was answered", () => {
  const world = upgrading({ checks: [errorRate] });
  world.reply = () => bad;
  passes(world, 20_000);
  world.lead();
  for (const reply of [undefined, unasked]) {
    world.reply = () => reply;
    passes(world, 60_000);
    expect(canaryOf(world)).toContain("Halted | Failed CheckFailed: Check error-rate: it ");
  }
});

test("another process that leads ends no halt before the check was good for five minutes", () => {
  const world = upgrading({ checks: [errorRate] });
  world.reply = () => bad;
  passes(world, 20_000);
  world.lead();
  world.reply = () => good;
  passes(world, 280_000);
  expect(canaryOf(world)).toContain(
    "Halted | Failed CheckFailed: Check error-rate: it is good for",
  );
  passes(world, 60_000);
  expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
});

test("a cluster that did not fail is verified in a halt as at all times, also by another process", () => {
  const stage = stageOfRing("canary", { maxConcurrency: 2 });
  const world = upgrading({ checks: [errorRate] }, { stages: [stage, stageOfRing("rest")] }, 2);
  world.reply = (cluster) => (cluster === "canary-1" ? bad : good);
  passes(world, 20_000);
  expect(world.set.status?.stages?.[0]).toMatchObject({ state: "Halted", failed: 1, done: 1 });
  world.lead();
  world.settle();
  expect(world.set.status?.clusters).toMatchObject({ failed: 1, verifying: 1 });
  passes(world, 20_000);
  expect(world.set.status?.stages?.[0]).toMatchObject({ state: "Halted", failed: 1, done: 1 });
});

describe("what was verified stays so", () => {
  test("another process asks again, and its first looks do not begin the soak anew", () => {
    const world = upgrading(workloads);
    passes(world, 60_000);
    const before = world.set.status?.stages?.[0]?.doneAt;
    world.lead();
    world.reply = () => undefined;
    passes(world, 60_000);
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
    expect(world.set.status?.stages?.[0]?.doneAt).toBe(before);
    world.reply = () => unasked;
    passes(world, 60_000);
    expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
  });

  test("clusters of a passed stage are not asked any more", () => {
    const world = upgrading(workloads);
    world.run(["Complete"]);
    world.reply = () => bad;
    expect(world.settle().verifications).toEqual([]);
    passes(world, 600_000);
    expect(world.set.status?.rollout?.phase).toBe("Complete");
  });

  test("a cluster that joins a complete set and fails keeps it halted until its check is good", () => {
    const world = upgrading(workloads);
    world.run(["Complete"]);
    world.reply = (cluster) => (cluster === "canary-2" ? bad : good);
    for (const name of ["canary-2", "canary-3"]) {
      world.clusters.set(name, { name, labels: { ring: "canary" }, fate: () => "ready" });
    }
    passes(world, 300_000);
    for (let round = 0; round < 10; round += 1) {
      expect(world.set.status?.rollout?.phase).toBe("Halted");
      expect(world.settle().verifications?.map(({ cluster }) => cluster)).toContain(
        "fleet/canary-2",
      );
      passes(world, 60_000);
    }
    world.reply = () => good;
    passes(world, 600_000);
    expect(world.set.status).toMatchObject({ rollout: { phase: "Complete" } });
  });

  test.each(["canary", "rest"])(
    "a cluster that joins the passed stage %s is verified, too",
    (stage) => {
      const world = upgrading(workloads);
      world.run(["Complete"]);
      world.pass(10_000);
      const name = `${stage}-9`;
      world.clusters.set(name, { name, labels: { ring: stage }, fate: () => "ready" });
      world.settle();
      world.pass(10_000);
      expect(world.settle().verifications).toMatchObject([{ cluster: `fleet/${name}` }]);
      expect(world.set.status?.clusters?.["verifying"]).toBe(1);
      passes(world, 60_000);
      expect(world.settle().status.clusters).toMatchObject({ done: 3 });
    },
  );
});
