import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { conditionOf } from "../../api/conditions.ts";
import { setLabels } from "../../api/fleet-set.ts";
import { runsOf } from "../support/fuzz.ts";
import { ring, SetWorld, stageOfRing } from "./set-world.ts";
import type { Fate } from "./status-after.ts";
import { minute, next } from "./two-rings.ts";

const soakMs = 5 * minute;

/** A world that is complete at 1.22.0 and begins 1.23.0, whose clusters are by then as `fateOf` says. */
function begun(
  { minReadySeconds }: { readonly minReadySeconds: number },
  fateOf: (name: string, now: number) => Fate,
): SetWorld {
  const members = [...ring("canary", 3), ...ring("rest", 3)];
  const canary = stageOfRing("canary", {
    maxConcurrency: 3,
    maxFailures: 0,
    maxUnreachable: 3,
    after: { soak: "5m" },
  });
  const world: SetWorld = new SetWorld(
    { stages: [canary, stageOfRing("rest")], minReadySeconds },
    members.map((member) => ({
      ...member,
      fate: (version) => (version === "1.23.0" ? fateOf(member.name, world.now) : "ready"),
    })),
  );
  world.run(["Complete"]);
  world.edit(next);
  world.settle();
  expect(canaryOf(world)).toBe("Rolling");
  return world;
}

function canaryOf({ set }: SetWorld): string | undefined {
  return set.status?.stages?.find(({ name }) => name === "canary")?.state;
}

/** Clusters of the canary that have the new revision and say that they are not ready; a dark one says nothing. */
function brokenIn({ children, set }: SetWorld): readonly string[] {
  const revision = set.status?.updateRevision;
  return [...children]
    .filter(
      ([key, { metadata, status }]) =>
        key.startsWith("fleet/canary") &&
        metadata.labels?.[setLabels.revision] === revision &&
        conditionOf(status?.conditions, "Ready")?.status !== "True" &&
        conditionOf(status?.conditions, "TargetClusterResolved")?.status !== "False",
    )
    .map(([key]) => key);
}

describe("any clusters that break", () => {
  test("in a crash loop that is never ready for long enough time out, and stop the rollout, whoever leads", () => {
    const loop = fc.record({
      minReadySeconds: fc.constantFrom(0, 60),
      on: fc.integer({ min: 10, max: 45 }),
      off: fc.integer({ min: 10, max: 120 }),
      first: fc.integer({ min: 0, max: 120 }),
      // Rounds in which another process begins.
      turns: fc.oneof(
        fc.uniqueArray(fc.integer({ min: 0, max: 150 }), { maxLength: 20 }),
        fc
          .constantFrom(1, 2, 3, 7)
          .map((each) => Array.from({ length: 700 }, (_, at) => at * each)),
      ),
    });
    fc.assert(
      fc.property(loop, ({ minReadySeconds, on, off, first, turns }) => {
        const world = begun({ minReadySeconds }, (name, now) => {
          const second = Math.floor(now / 1_000) + first;
          return name === "canary-1" && second % (on + off) >= on ? "stuck" : "ready";
        });
        // What is done for a moment does not count: not more than 45 of 55 seconds.
        const share = minReadySeconds === 0 ? (on + 10) / (on + off) : 0;
        const most = (18 * minute) / (1 - Math.min(share, 0.85));
        const leaders = new Set(turns);
        let hasHalted = false;
        for (let elapsed = 0; elapsed < most; elapsed += 10_000) {
          if (leaders.has(elapsed / 10_000)) world.lead();
          world.settle();
          expect(canaryOf(world)).not.toMatch(minReadySeconds > 0 ? /Soaking|Passed/u : /Passed/u);
          hasHalted ||= world.set.status?.rollout?.phase === "Halted";
          world.pass(10_000);
        }
        expect(hasHalted).toBe(true);
      }),
      { numRuns: runsOf(40) },
    );
  });

  test("in a soak begin it anew, also when others go dark meanwhile", () => {
    const trouble = fc.record({
      at: fc.integer({ min: 1, max: 100 }),
      rounds: fc.integer({ min: 1, max: 40 }),
      name: fc.constantFrom("canary-1", "canary-2", "canary-3"),
      fate: fc.constantFrom("stuck" as const, "invalid" as const, "dark" as const),
    });
    const settings = fc.record({ minReadySeconds: fc.constantFrom(0, 30) });
    fc.assert(
      fc.property(settings, fc.array(trouble, { minLength: 1, maxLength: 5 }), (set, troubles) => {
        const fates = new Map<string, Fate>();
        const world = begun(set, (name) => fates.get(name) ?? "ready");
        let brokenAt = Number.NEGATIVE_INFINITY;
        for (let round = 0; round < 300 && canaryOf(world) !== "Passed"; round += 1) {
          fates.clear();
          for (const { at, rounds, name, fate } of troubles)
            if (round >= at && round < at + rounds) fates.set(name, fate);
          world.pass(10_000);
          if (brokenIn(world).length > 0) brokenAt = world.now;
          world.settle();
        }
        expect(canaryOf(world)).toBe("Passed");
        expect(world.now - brokenAt).toBeGreaterThanOrEqual(soakMs);
      }),
      { numRuns: runsOf(200) },
    );
  });
});
