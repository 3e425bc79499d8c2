import { describe, expect, test } from "vitest";

import { setAnnotations, steering } from "../../api/fleet-set.ts";
import { revisionNameOf } from "../../sets/desired-spec.ts";
import { ring, rolloutWith, SetWorld, stageOfRing } from "./set-world.ts";

const minute = 60_000;
const next = { template: { spec: { version: "1.23.0" } } };
const stages = [
  stageOfRing("canary", { maxConcurrency: 1 }),
  stageOfRing("rest", { maxConcurrency: 2, maxFailures: 1 }),
];

function completeWorld(extra: object = {}, bad: readonly string[] = []) {
  const fate = (name: string) => (version: string) =>
    version === "1.23.0" && bad.includes(name) ? ("stuck" as const) : ("ready" as const);
  const clusters = [...ring("canary", 2), ...ring("rest", 5)];
  const world = new SetWorld(
    { stages, ...extra },
    clusters.map((cluster) => ({ ...cluster, fate: fate(cluster.name) })),
  );
  world.run(["Complete"]);
  return world;
}

function updateOf(world: SetWorld): string {
  return revisionNameOf("prod", world.set.spec);
}

describe("revisions", () => {
  test("a change of the rollout alone is no new revision", () => {
    const world = completeWorld();
    const before = updateOf(world);
    world.edit({ rollout: rolloutWith({ stages: [] }) });
    expect(updateOf(world)).toBe(before);
    expect(world.settle().stamps).toEqual([]);
  });

  test("a change in the middle begins again at the first stage, and the last complete revision stays", () => {
    const world = completeWorld();
    const complete = updateOf(world);
    world.edit(next);
    world.settle();
    world.edit({ template: { spec: { version: "1.23.1" } } });
    const again = world.settle();
    expect(again.status.rollout?.stage).toBe("canary");
    expect(again.status.currentRevision).toBe(complete);
    world.run(["Complete"]);
    expect(new Set(Object.values(world.versions()))).toEqual(new Set(["1.23.1"]));
  });

  test("going back to the complete revision in the middle touches only the clusters that were changed", () => {
    const world = completeWorld();
    const { template } = world.set.spec;
    world.edit(next);
    world.settle();
    world.pass(10_000);
    world.edit({ template });
    const before = world.writes;
    world.run(["Complete"]);
    expect(new Set(Object.values(world.versions()))).toEqual(new Set(["1.22.0"]));
    expect(world.writes - before).toBeLessThan(7);
  });

  test("a failed revision is rolled back, pinned, and tried again only on demand", () => {
    const world = completeWorld({ onFailure: "Rollback" }, ["rest-1", "rest-2", "rest-3"]);
    world.edit(next);
    world.run(["RolledBack"]);
    expect(new Set(Object.values(world.versions()))).toEqual(new Set(["1.22.0"]));
    expect(world.set.status?.rollout?.failedRevision).toBe(updateOf(world));
    world.pass(60 * minute);
    expect(world.settle().stamps).toEqual([]);
    for (const [name, cluster] of world.clusters) {
      world.clusters.set(name, { ...cluster, fate: () => "ready" });
    }
    world.annotate(steering.retry, updateOf(world));
    world.run(["Complete"]);
    expect(new Set(Object.values(world.versions()))).toEqual(new Set(["1.23.0"]));
  });

  test("a first rollout that fails has nothing to go back to", () => {
    const world = new SetWorld({ stages, onFailure: "Rollback" }, [
      ...ring("canary", 1, () => "invalid"),
      ...ring("rest", 2),
    ]);
    const halted = world.run(["Halted"]);
    expect(halted.status.rollout?.waitingFor).toMatch(/no revision that was completed before/);
    expect(Object.keys(world.versions())).toEqual(["canary-1"]);
  });
});

describe("R11: what is not selected any more", () => {
  test("is left after ten minutes, and marked meanwhile", () => {
    const world = completeWorld();
    const gone = world.clusters.get("rest-5");
    world.clusters.delete("rest-5");
    world.settle();
    const child = world.children.get("fleet/rest-5");
    expect(child?.metadata.annotations?.[setAnnotations.unselectedAt]).toBeDefined();
    world.pass(9 * minute);
    world.settle();
    expect(world.children.has("fleet/rest-5")).toBe(true);
    if (gone !== undefined) world.clusters.set("rest-5", gone);
    world.settle();
    world.clusters.delete("rest-5");
    world.settle();
    world.pass(11 * minute);
    world.settle();
    expect(world.children.has("fleet/rest-5")).toBe(false);
  });

  test.each([
    {
      what: "an unusable selection",
      selection: { kind: "unusable", reason: "X", message: "x" } as const,
    },
    { what: "an empty selection", selection: { kind: "clusters", clusters: [] } as const },
  ])("$what removes nothing", ({ selection }) => {
    const world = completeWorld();
    world.selection = selection;
    world.settle();
    world.pass(60 * minute);
    world.settle();
    expect(world.children.size).toBe(7);
  });

  test("a selection that shrinks suddenly removes nothing until its hash is accepted", () => {
    const world = completeWorld();
    world.selection = { kind: "clusters", clusters: [{ namespace: "fleet", name: "rest-1" }] };
    const { status } = world.settle();
    world.pass(60 * minute);
    world.settle();
    expect(world.children.size).toBe(7);
    const selected = status.conditions?.find(({ type }) => type === "Selected");
    expect(selected?.reason).toBe("SuspiciousShrink");
    world.annotate(steering.acceptSelection, /is ([0-9a-f]+)$/.exec(selected?.message ?? "")?.[1]);
    world.settle();
    world.pass(11 * minute);
    world.settle();
    world.settle();
    expect(world.children.size).toBeLessThan(7);
  });
});
