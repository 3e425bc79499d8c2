import * as fc from "fast-check";
import { expect, test } from "vitest";

import { conditionOf } from "../../api/conditions.ts";
import { steering } from "../../api/fleet-set.ts";
import { runsOf } from "../support/fuzz.ts";
import { ring, rolloutWith, SetWorld, stageOfRing } from "./set-world.ts";
import type { Fate } from "./status-after.ts";

const versions = ["1.22.0", "1.22.1", "1.23.0", "1.23.1"] as const;
const rings = { canary: 3, rest: 6 } as const;
const members = Object.entries(rings).flatMap(([name, count]) => ring(name, count));
const names = members.map(({ name }) => name);

/** Template with a value of the cluster, so that a label changes the spec of one cluster. */
function templateOf(version: string) {
  return { template: { spec: { version, registry: { default: "$(cluster.labels[zone]:-a)" } } } };
}

interface Happening {
  readonly kind: keyof typeof plays;
  readonly name: string;
  readonly number: number;
  readonly version: string;
}

const plays = {
  pass: (world: SetWorld, { number }: Happening) => world.pass(number * 1_000),
  version: (world: SetWorld, { version }: Happening) => world.edit(templateOf(version)),
  override: (world: SetWorld, { name, version }: Happening) =>
    world.edit({ overrides: [{ name: "one", clusters: [name], patch: { version } }] }),
  value: (world: SetWorld, { name, number }: Happening) =>
    relabel(world, name, { zone: `z${number}` }),
  join: (world: SetWorld, { name, number, version }: Happening) => {
    const labels = { ring: name.startsWith("canary") ? "canary" : "rest" };
    const fate = (of: string): Fate => (of === version ? "stuck" : "ready");
    world.clusters.set(`${name}-${number}`, { name: `${name}-${number}`, labels, fate });
  },
  // The process ends after so many of its writes.
  killed: (world: SetWorld, { number }: Happening) => world.write(world.decide(), number % 3),
  pause: (world: SetWorld) => world.annotate(steering.pause, "wait"),
  resume: (world: SetWorld) => world.annotate(steering.pause, undefined),
  block: (world: SetWorld, { name }: Happening) =>
    world.obstacles.set(`fleet/${name}`, { reason: "Refused", message: "No" }),
  free: (world: SetWorld, { name }: Happening) => world.obstacles.delete(`fleet/${name}`),
  retry: (world: SetWorld) => world.annotate(steering.retry, world.set.status?.updateRevision),
};

function relabel(world: SetWorld, name: string, more: Readonly<Record<string, string>>): void {
  const cluster = world.clusters.get(name);
  if (cluster === undefined) return;
  world.clusters.set(name, { ...cluster, labels: { ...cluster.labels, ...more } });
}

const kinds = [
  ...(["pass", "pass", "pass", "pass", "version", "version", "override", "value"] as const),
  ...(["join", "killed", "pause", "resume", "retry", "block", "free"] as const),
];

const happening: fc.Arbitrary<Happening> = fc.record({
  kind: fc.constantFrom(...kinds),
  name: fc.constantFrom(...names),
  number: fc.integer({ min: 1, max: 1_200 }),
  version: fc.constantFrom(...versions),
});

const stage = fc.record({
  maxConcurrency: fc.integer({ min: 1, max: 3 }),
  maxFailures: fc.integer({ min: 0, max: 2 }),
});

const settings = fc.record({
  canary: stage,
  rest: stage,
  onFailure: fc.constantFrom("Pause" as const, "Rollback" as const),
  // What a version makes of each cluster, for good.
  fates: fc.array(
    fc.record({
      name: fc.constantFrom(...names),
      version: fc.constantFrom(...versions),
      fate: fc.constantFrom("stuck" as const, "invalid" as const),
    }),
    { maxLength: 20 },
  ),
});

type Settings = typeof settings extends fc.Arbitrary<infer Value> ? Value : never;

function worldOf({ canary, rest, onFailure, fates }: Settings): SetWorld {
  const clusters = members.map((member) => ({
    ...member,
    fate: (version: string): Fate =>
      fates.find((one) => one.name === member.name && one.version === version)?.fate ?? "ready",
  }));
  const stages = [stageOfRing("canary", canary), stageOfRing("rest", rest)];
  const world = new SetWorld(rolloutWith({ stages, onFailure }), clusters);
  world.edit(templateOf("1.22.0"));
  return world;
}

/** Clusters of a stage whose component has not taken what was stamped, or is not ready with it. */
function unreadyOf(world: SetWorld, name: string): readonly string[] {
  return [...world.clusters.values()]
    .filter(({ labels }) => labels["ring"] === name)
    .map((cluster) => cluster.name)
    .filter((cluster) => {
      const child = world.children.get(`fleet/${cluster}`);
      if (child === undefined) return false;
      const isReady = conditionOf(child.status?.conditions, "Ready")?.status === "True";
      return !isReady || child.status?.observedGeneration !== child.metadata.generation;
    });
}

test("no sequence of edits leaves more clusters unready than may change and fail", () => {
  fc.assert(
    fc.property(settings, fc.array(happening, { maxLength: 30 }), (given, events) => {
      const world = worldOf(given);
      for (const one of events) {
        plays[one.kind](world, one);
        for (let round = 0; round < 3; round += 1) {
          world.write(world.decide());
          for (const name of ["canary", "rest"] as const) {
            const { maxConcurrency, maxFailures } = given[name];
            expect(unreadyOf(world, name).length).toBeLessThanOrEqual(maxConcurrency + maxFailures);
          }
        }
      }
    }),
    { numRuns: runsOf(1_200) },
  );
});
