import { expect, test } from "vitest";

import { rolloutWith, type SetWorld, stageOfRing } from "./set-world.ts";
import { completeWorld, minute, next, stages } from "./two-rings.ts";

/** 1.23.0 on the canary, which is ready and unready in turns of half a minute. */
function crashLoop(extra: object): { readonly world: SetWorld; readonly turn: () => string } {
  const broken: string[] = [];
  const world = completeWorld(extra, broken);
  world.edit({ ...next, rollout: rolloutWith({ stages, ...extra }) });
  world.settle();
  return {
    world,
    turn: () => {
      if (broken.length === 0) broken.push("canary-1", "canary-2");
      else broken.length = 0;
      world.pass(30_000);
      return world.settle().status.rollout?.phase ?? "";
    },
  };
}

test("a canary that is ready again and again, but never for long enough, halts the rollout at its deadline", () => {
  const { world, turn } = crashLoop({ minReadySeconds: 60, progressDeadline: "10m" });
  const phases = Array.from({ length: 22 }, turn);
  expect(phases.slice(0, 19)).toEqual(phases.slice(0, 19).map(() => "Rolling"));
  expect(phases.at(-1)).toBe("Halted");
  expect(world.versions()["rest-1"]).toBe("1.22.0");
});

test("a process that has not seen the stamp gives a crash loop more time, and halts then", () => {
  const { world, turn } = crashLoop({ minReadySeconds: 60, progressDeadline: "10m" });
  Array.from({ length: 15 }, turn);
  world.history = { since: world.now + 1_000, clusters: new Map() };
  const phases = Array.from({ length: 24 }, turn);
  expect(phases.slice(0, 18)).toEqual(phases.slice(0, 18).map(() => "Rolling"));
  expect(phases.at(-1)).toBe("Halted");
});

/** After how many ms a cluster that is never ready halts a rollout with a deadline of ten minutes. */
function haltsAfter(restarts: boolean): number {
  const world = completeWorld({}, ["canary-1", "canary-2"]);
  world.edit({ ...next, rollout: rolloutWith({ stages, progressDeadline: "10m" }) });
  const from = world.now;
  while (world.settle().status.rollout?.phase !== "Halted") {
    world.pass(30_000);
    if (restarts) world.history = { since: world.now, clusters: new Map() };
  }
  return world.now - from;
}

test("a process that begins does not give a cluster more time that was never ready", () => {
  expect(Math.abs(haltsAfter(true) - haltsAfter(false))).toBeLessThanOrEqual(30_000);
});

test.each([
  { up: 40, down: 300, soak: "5m", halts: 18 },
  { up: 30, down: 30, soak: "10m", halts: 31 },
])(
  "a canary that is done for $up seconds and breaks for $down, again and again, halts the rollout: $halts minutes",
  ({ up, down, soak, halts }) => {
    const broken: string[] = [];
    const world = completeWorld({}, broken);
    const canary = stageOfRing("canary", { maxConcurrency: 2, after: { soak } });
    world.edit({ ...next, rollout: rolloutWith({ stages: [canary, stageOfRing("rest")] }) });
    world.run(["Soaking"]);
    const from = world.now;
    const phase = (): string => world.settle().status.rollout?.phase ?? "";
    while (phase() !== "Halted" && world.now - from < 60 * minute) {
      const isUp = ((world.now - from) / 1_000) % (up + down) < up;
      broken.splice(0, broken.length, ...(isUp ? [] : ["canary-1"]));
      world.pass(10_000);
    }
    expect(phase()).toBe("Halted");
    expect(world.now - from).toBeLessThan(halts * minute);
    expect(world.versions()["rest-1"]).toBe("1.22.0");
  },
);

test("a cluster that was done long ago has the whole deadline when it breaks", () => {
  const broken: string[] = [];
  const world = completeWorld({}, broken);
  const soaked = stageOfRing("canary", { maxConcurrency: 2, after: { soak: "2h" } });
  world.edit({ ...next, rollout: rolloutWith({ stages: [soaked, stageOfRing("rest")] }) });
  world.run(["Soaking"]);
  world.pass(60 * minute);
  world.settle();
  broken.push("canary-2");
  world.pass(minute);
  expect(world.settle().status.rollout?.phase).toBe("Rolling");
  world.pass(13 * minute);
  expect(world.settle().status.rollout?.phase).toBe("Rolling");
  world.pass(2 * minute);
  expect(world.settle().status.rollout?.phase).toBe("Halted");
});

test("a done cluster that goes dark while another one halts the rollout is no failure", () => {
  const bad = ["canary-2"];
  const world = completeWorld({}, bad);
  const two = [stageOfRing("canary", { maxConcurrency: 2 }), stageOfRing("rest")];
  world.edit({ ...next, rollout: rolloutWith({ stages: two }) });
  world.run(["Halted"]);
  const first = world.clusters.get("canary-1");
  if (first !== undefined) world.clusters.set("canary-1", { ...first, fate: () => "dark" });
  world.pass(minute);
  const halted = world.settle();
  expect(halted.status.stages?.[0]).toMatchObject({ failed: 1, unreachable: 1 });
  bad.length = 0;
  world.pass(minute);
  // For a moment, or for good?
  expect(world.settle().status.rollout?.phase).toBe("Halted");
  world.pass(5 * minute);
  expect(world.settle().status.rollout?.phase).not.toBe("Halted");
});
