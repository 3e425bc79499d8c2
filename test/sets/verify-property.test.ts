import * as fc from "fast-check";
import { expect, test } from "vitest";

import { setLabels } from "../../api/fleet-set.ts";
import type { Reply } from "../../sets/check-answer.ts";
import { runsOf } from "../support/fuzz.ts";
import { ring, SetWorld, stageOfRing } from "./set-world.ts";
import { minute } from "./two-rings.ts";

const replies = {
  good: { kind: "good", message: "" },
  bad: { kind: "bad", message: "broken" },
  unasked: { kind: "unasked", message: "no answer" },
  silent: undefined,
} as const satisfies Readonly<Record<string, Reply | undefined>>;

const withinMs = 3 * minute;

/** A world of two canaries, one at a time, and two further clusters, which is complete at 1.22.0 and begins 1.23.0. */
function begun(reply: (cluster: string, now: number) => Reply | undefined): SetWorld {
  const stages = [
    stageOfRing("canary", { maxConcurrency: 1, after: { soak: "5m" } }),
    stageOfRing("rest", { maxConcurrency: 2 }),
  ];
  const verify = { workloads: { maxNewlyBroken: 0, within: "3m" } };
  const world = new SetWorld({ stages, verify, order: "Name", progressDeadline: "None" }, [
    ...ring("canary", 2),
    ...ring("rest", 2),
  ]);
  world.reply = () => replies.good;
  world.run(["Complete"]);
  world.edit({ template: { spec: { version: "1.23.0" } } });
  world.reply = (cluster) => reply(cluster, world.now);
  world.settle();
  return world;
}

/** The clusters that have the revision that is rolled out. */
function stamped({ children, set }: SetWorld): readonly string[] {
  const revision = set.status?.updateRevision;
  return [...children].flatMap(([key, { metadata }]) =>
    metadata.labels?.[setLabels.revision] === revision ? [key.slice("fleet/".length)] : [],
  );
}

const trouble = fc.record({
  at: fc.integer({ min: 0, max: 60 }),
  rounds: fc.integer({ min: 1, max: 40 }),
  name: fc.constantFrom("canary-1", "canary-2"),
  kind: fc.constantFrom("bad" as const, "unasked" as const, "silent" as const),
});
const troubles = fc.array(trouble, { minLength: 1, maxLength: 6 });
const restarts = fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 3 });

test("whatever clusters answer, and whoever leads, nothing goes on while one is broken, and all does in the end", () => {
  fc.assert(
    fc.property(troubles, restarts, (all, turns) => {
      let round = 0;
      const kindOf = (cluster: string): keyof typeof replies =>
        all.find(({ name, at, rounds }) => name === cluster && round >= at && round < at + rounds)
          ?.kind ?? "good";
      const world = begun((cluster) => replies[kindOf(cluster)]);
      const badSince = new Map<string, number>();
      for (; round < 260; round += 1) {
        const before = stamped(world);
        if (turns.includes(round)) world.lead();
        world.settle();
        for (const cluster of ["canary-1", "canary-2"]) {
          if (kindOf(cluster) !== "bad") badSince.delete(cluster);
          else if (!badSince.has(cluster)) badSince.set(cluster, world.now);
        }
        const isBroken = before.some(
          (cluster) => world.now - (badSince.get(cluster) ?? Infinity) > withinMs + 20_000,
        );
        const hasPassed = before.some((cluster) => cluster.startsWith("rest"));
        // A process that has just begun gets its first answers in the next round.
        const isNew = turns.some(
          (turn) => round - turn >= 0 && round - turn <= withinMs / 10_000 + 2,
        );
        const mayGoOn = !isBroken || hasPassed || isNew;
        expect(mayGoOn ? before : stamped(world)).toEqual(before);
        world.pass(10_000);
      }
      expect(world.set.status?.rollout?.phase).toBe("Complete");
    }),
    { numRuns: runsOf(12) },
  );
});

test("the canary is passed only after each of its clusters was found well since it got the revision", () => {
  fc.assert(
    fc.property(troubles, (all) => {
      let round = 0;
      const well = new Set<string>();
      const world = begun((cluster) => {
        const found = all.find(
          ({ name, at, rounds }) => name === cluster && round >= at && round < at + rounds,
        );
        if (found !== undefined) return found.kind === "bad" ? replies.bad : replies.unasked;
        if (got(cluster)) well.add(cluster);
        return replies.good;
      });
      const got = (cluster: string): boolean => stamped(world).includes(cluster);
      for (; round < 400 && !got("rest-1"); round += 1) {
        world.settle();
        world.pass(10_000);
      }
      expect(got("rest-1")).toBe(true);
      expect([...well].filter((one) => one.startsWith("canary")).toSorted()).toEqual([
        "canary-1",
        "canary-2",
      ]);
    }),
    { numRuns: runsOf(20) },
  );
});
