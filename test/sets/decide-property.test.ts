import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { Component, ComponentKey } from "../../api/component.ts";
import { setLabels, steering } from "../../api/fleet-set.ts";
import { decide } from "../../sets/decide.ts";
import type { Decision } from "../../sets/facts.ts";
import { durationOf } from "../../sets/limits.ts";
import { runsOf } from "../support/fuzz.ts";
import { ring, rolloutWith, SetWorld, stageOfRing } from "./set-world.ts";
import { StampJudge } from "./stamp-judge.ts";
import type { Fate } from "./status-after.ts";

const versions = ["1.22.0", "1.22.1", "1.23.0", "1.23.1", "1.22", "1.23"] as const;
const available = ["1.23.0", "1.22.0"];

/** What can happen to a set. Not every kind uses the cluster, the number and the fate. */
interface Happening {
  readonly kind: keyof typeof plays;
  /** Name of a cluster. */
  readonly name: string;
  readonly number: number;
  readonly version: string;
  readonly fate: Fate | "loop";
}

const rings = { canary: 3, rest: 5 } as const;
const members = Object.entries(rings).flatMap(([name, size]) => ring(name, size));
const names = members.map(({ name }) => name);

const plays = {
  pass: ({ world }: Scene, { number }: Happening) => world.pass(number * 1_000),
  moment: ({ world }: Scene, { number }: Happening) => world.pass(number * 50),
  // Another process leads from now on.
  lead: ({ world }: Scene) => world.lead(),
  version: ({ world }: Scene, { version }: Happening) =>
    world.edit({ template: { spec: { version } } }),
  // A knfleet with one more patch of a minor comes, or one with fewer comes back.
  release: ({ world }: Scene, { number }: Happening) => {
    const more = [`1.23.${(number % 3) + 1}`, `1.22.${(number % 2) + 1}`];
    world.available = [...more, ...available].toSorted().toReversed();
  },
  fate: ({ fates }: Scene, { name, fate }: Happening) => void fates.set(name, fate),
  leave: ({ world }: Scene, { name }: Happening) => void world.clusters.delete(name),
  join: ({ world, fateOf }: Scene, { name }: Happening) => {
    const labels = { ring: name.startsWith("canary") ? "canary" : "rest" };
    world.clusters.set(name, { name, labels, fate: () => fateOf(name) });
  },
  // The process ends after so many of its writes.
  killed: (scene: Scene, { number }: Happening) => scene.world.write(checked(scene), number % 4),
  forget: ({ world }: Scene) => void (world.set = { ...world.set, status: {} }),
  pause: ({ world }: Scene) => world.annotate(steering.pause, "wait"),
  resume: ({ world }: Scene) => world.annotate(steering.pause, undefined),
  approve: ({ world }: Scene) =>
    world.annotate(`${steering.approve}canary-after`, `${updateOf(world)} alice`),
  retry: ({ world }: Scene) => world.annotate(steering.retry, updateOf(world)),
};

function updateOf({ set }: SetWorld): string {
  return set.status?.updateRevision ?? "";
}

// Time and trouble come more often than the rest, so that failures add up.
const kinds = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("moment", "moment", "pass", "fate", "fate") },
  { weight: 1, arbitrary: fc.constantFrom("lead", "lead", "killed", "leave", "join", "approve") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("version", "release", "forget", "pause", "resume", "retry"),
  },
) satisfies fc.Arbitrary<keyof typeof plays>;

const happening: fc.Arbitrary<Happening> = fc.record({
  kind: kinds,
  name: fc.constantFrom(...names),
  number: fc.integer({ min: 1, max: 2_000 }),
  version: fc.constantFrom(...versions),
  fate: fc.constantFrom(...(["ready", "ready", "stuck", "invalid", "dark", "loop"] as const)),
});

const stage = fc.record({
  maxConcurrency: fc.constantFrom(1, 2, "50%"),
  maxFailures: fc.constantFrom(0, 1, "25%"),
  after: fc.constantFrom({}, { soak: "5m" }, { approval: true }),
});

const rollout = fc.record({
  canary: stage,
  rest: stage,
  onFailure: fc.constantFrom("Pause" as const, "Rollback" as const),
  minReadySeconds: fc.constantFrom(0, 60),
});

type Settings = typeof rollout extends fc.Arbitrary<infer Value> ? Value : never;

interface Scene {
  readonly world: SetWorld;
  readonly fates: Map<string, Happening["fate"]>;
  /** How a cluster takes what it has now. */
  readonly fateOf: (name: string) => Fate;
  readonly judge: StampJudge;
}

function sceneOf({ canary, rest, ...fields }: Settings): Scene {
  const fates = new Map<string, Happening["fate"]>();
  const fateOf = (name: string): Fate => {
    const fate = fates.get(name) ?? "ready";
    // Ready and unready in turns of half a minute.
    if (fate === "loop") return Math.floor(world.now / 30_000) % 2 === 0 ? "ready" : "stuck";
    return fate;
  };
  const clusters = members.map((member) => ({
    ...member,
    fate: () => fateOf(member.name),
  }));
  const stages = [stageOfRing("canary", canary), stageOfRing("rest", rest)];
  const world: SetWorld = new SetWorld(rolloutWith({ stages, ...fields }), clusters);
  world.available = available;
  const promised = (["canary", "rest"] as const).map((name) => {
    const { after, ...limits } = { canary, rest }[name];
    return {
      name,
      size: rings[name],
      ...limits,
      soakMs: durationOf("soak" in after ? after.soak : undefined, 0),
    };
  });
  return { world, fates, fateOf, judge: new StampJudge(promised) };
}

function play(scene: Scene, one: Happening): void {
  plays[one.kind](scene, one);
}

/** A decision that keeps the promises of every decision. */
function checked({ world, judge }: Scene): Decision {
  const facts = world.facts();
  judge.look(world);
  const decision = decide(facts, world.now);
  expect([...brokenPromises(decision), ...judge.faults(world, decision)]).toEqual([]);
  const { selection, children, revisions } = facts;
  // Another process gets the same objects, in any order.
  const elsewhere = {
    ...facts,
    children: children.toReversed(),
    revisions: revisions.toReversed(),
    selection:
      selection.kind === "clusters"
        ? { ...selection, clusters: selection.clusters.toReversed() }
        : selection,
  };
  expect(inOneOrder(decide(elsewhere, world.now))).toEqual(inOneOrder(decision));
  const forgetful = decide({ ...facts, set: { ...facts.set, status: {} } }, world.now);
  expect(startedBesides(forgetful, decision, world)).toEqual([]);
  return decision;
}

/** Removals are a set: those that are due are chosen by their times and names. */
function inOneOrder({ removals, ...rest }: Decision): object {
  const sorted = Object.entries(removals).map(([what, keys]) => [
    what,
    keys.map(({ name }: ComponentKey) => name).toSorted(),
  ]);
  return { ...rest, removals: sorted };
}

/** Clusters that get the new revision only because the status was lost: it is always the careful side that is taken. */
function startedBesides(lost: Decision, kept: Decision, world: SetWorld): readonly string[] {
  // Without the end of a pause a cluster times out earlier, and frees its slot.
  if (kept.mark !== undefined || kept.status.rollout?.resumedAt !== undefined) return [];
  // Nothing but the status knows of a stage that began and has no cluster left.
  const { stages = [] } = kept.status;
  if (stages.some(({ clusters, startedAt }) => clusters === 0 && startedAt !== undefined)) {
    return [];
  }
  // A cluster that times out earlier frees its slot earlier.
  if (failedOf(lost) > failedOf(kept)) return [];
  const started = new Set(kept.stamps.map(({ cluster }) => cluster));
  return (
    lost.stamps
      .filter(({ revision }) => revision === kept.status.updateRevision)
      .map(({ cluster }) => cluster)
      // A user asked to try again a cluster that has it.
      .filter((cluster) => !hasUpdateRevision(world.children.get(cluster), kept))
      .filter((cluster) => !started.has(cluster))
  );
}

function failedOf({ status }: Decision): number {
  return status.clusters?.["failed"] ?? 0;
}

function hasUpdateRevision(child: Component | undefined, { status }: Decision): boolean {
  return child?.metadata.labels?.[setLabels.revision] === status.updateRevision;
}

const stillPhases: readonly string[] = ["Paused", "Halted", "RolledBack", "Blocked"];

function brokenPromises({ status, stamps, mark, removals }: Decision): readonly string[] {
  const phase = status.rollout?.phase ?? "";
  const writes = stamps.length + Object.values(removals).flat().length;
  const promises = {
    "nothing is stamped in this phase": !stillPhases.includes(phase) || stamps.length === 0,
    "a mark is written alone": mark === undefined || writes === 0,
    "the status is small": JSON.stringify(status).length < 32 * 1_024,
  };
  return Object.entries(promises).flatMap(([promise, isKept]) => (isKept ? [] : [promise]));
}

/** Whether the rollout is complete, and every cluster has its revision. */
function isThrough({ world }: Scene): boolean {
  const { rollout: state, updateRevision } = world.set.status ?? {};
  const revisions = [...world.clusters.keys()].map(
    (name) => world.children.get(`fleet/${name}`)?.metadata.labels?.[setLabels.revision],
  );
  return state?.phase === "Complete" && revisions.every((revision) => revision === updateRevision);
}

describe("any sequence of events", () => {
  test("keeps the limits of every stage, the order of the stages and every stop", () => {
    fc.assert(
      fc.property(
        rollout,
        fc.array(happening, { maxLength: 40, size: "max" }),
        (settings, events) => {
          const scene = sceneOf(settings);
          for (const one of events) {
            play(scene, one);
            for (let round = 0; round < 3; round += 1) scene.world.write(checked(scene));
          }
          expect(checked(scene).stamps.length).toBeLessThanOrEqual(names.length);
        },
      ),
      { numRuns: runsOf(400), endOnFailure: true },
    );
  });

  test("ends complete, with every cluster at the last version, once all clusters are well", () => {
    fc.assert(
      fc.property(rollout, fc.array(happening, { maxLength: 15 }), (settings, events) => {
        const scene = sceneOf(settings);
        const { world, fates } = scene;
        for (const one of events) {
          play(scene, one);
          world.write(checked(scene));
        }
        fates.clear();
        world.annotate(steering.pause, undefined);
        world.edit({ template: { spec: { version: "1.22.3" } } });
        for (let round = 0; round < 400 && !isThrough(scene); round += 1) {
          world.write(world.decide());
          const revision = world.set.status?.updateRevision ?? "";
          world.annotate(`${steering.approve}canary-after`, `${revision} alice`);
          world.annotate(`${steering.approve}rest-after`, `${revision} alice`);
          world.pass(20_000);
        }
        expect(isThrough(scene)).toBe(true);
      }),
      { numRuns: runsOf(80) },
    );
  });
});
