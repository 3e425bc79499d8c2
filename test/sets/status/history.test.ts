import { describe, expect, test } from "vitest";

import { rolloutWith, type SetWorld, stageOfRing } from "../set-world.ts";
import { completeWorld, minute, next, stages } from "../two-rings.ts";

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

test("a process that begins in the middle of a crash loop gives it a minute more at most", () => {
  const { world, turn } = crashLoop({ minReadySeconds: 60, progressDeadline: "10m" });
  Array.from({ length: 15 }, turn);
  world.lead();
  const phases = Array.from({ length: 8 }, turn);
  expect(phases.slice(0, 4)).toEqual(phases.slice(0, 4).map(() => "Rolling"));
  expect(phases.at(-1)).toBe("Halted");
});

test("processes that follow each other count the deadline of a canary that is done and breaks in turns", () => {
  const soaked = stageOfRing("canary", { maxConcurrency: 2, after: { soak: "2h" } });
  const { world, turn } = crashLoop({ progressDeadline: "10m", stages: [soaked] });
  const phases = Array.from({ length: 44 }, () => {
    world.lead();
    return turn();
  });
  expect(phases.slice(0, 19)).not.toContain("Halted");
  expect(phases).toContain("Halted");
});

/** After how many ms a cluster that is never ready halts a rollout with a deadline of ten minutes. */
function haltsAfter(restarts: boolean): number {
  const world = completeWorld({}, ["canary-1", "canary-2"]);
  world.edit({ ...next, rollout: rolloutWith({ stages, progressDeadline: "10m" }) });
  const from = world.now;
  while (world.settle().status.rollout?.phase !== "Halted") {
    world.pass(30_000);
    if (restarts) world.lead();
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

/** A set of which one canary is done, and the other one halts the rollout. */
function halted() {
  const bad = ["canary-2"];
  const world = completeWorld({}, bad);
  const two = [stageOfRing("canary", { maxConcurrency: 2 }), stageOfRing("rest")];
  world.edit({ ...next, rollout: rolloutWith({ stages: two }) });
  world.run(["Halted"]);
  const goesDark = (name: string): void => {
    const cluster = world.clusters.get(name);
    if (cluster !== undefined) world.clusters.set(name, { ...cluster, fate: () => "dark" });
    world.pass(minute);
  };
  return { world, bad, goesDark };
}

describe("while a failed cluster halts the rollout", () => {
  const leaders = [
    ["for the process that saw it", () => undefined, () => undefined],
    ["also for the next process", () => undefined, (world: SetWorld) => world.lead()],
    ["also when the process ends before", (world: SetWorld) => world.lead(), () => undefined],
  ] as const;
  test.each(leaders)("a done cluster that goes dark is no failure, %s", (_, before, after) => {
    const { world, bad, goesDark } = halted();
    before(world);
    goesDark("canary-1");
    world.settle();
    after(world);
    expect(world.settle().status.stages?.[0]).toMatchObject({ failed: 1, unreachable: 1 });
    bad.length = 0;
    world.pass(minute);
    // For a moment, or for good?
    expect(world.settle().status.rollout?.phase).toBe("Halted");
    world.pass(5 * minute);
    expect(world.settle().status.rollout?.phase).not.toBe("Halted");
  });

  test.each(leaders)("it stays a failure when it goes dark itself, %s", (_, before, after) => {
    const { world, goesDark } = halted();
    before(world);
    goesDark("canary-2");
    world.settle();
    after(world);
    world.pass(60 * minute);
    const { status } = world.settle();
    expect(status.rollout?.phase).toBe("Halted");
    expect(status.notable).toMatchObject([
      {
        cluster: "fleet/canary-2",
        state: "Failed",
        message: expect.stringMatching(/^Had failed when it went dark/u),
      },
    ]);
  });

  test("a status of a knfleet that does not name the failed clusters ends no halt", () => {
    const { world, goesDark } = halted();
    const { standings, ...status } = world.set.status ?? {};
    expect(standings).toMatchObject([{ cluster: "fleet/canary-2", failed: true }]);
    world.set = { ...world.set, status };
    world.lead();
    goesDark("canary-2");
    expect(world.settle().status.rollout?.phase).toBe("Halted");
  });
});
