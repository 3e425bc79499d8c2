import { describe, expect, test } from "vitest";

import { setAnnotations, steering } from "../../api/fleet-set.ts";
import { ring, rolloutWith, SetWorld } from "./set-world.ts";
import { completeWorld, minute, next, stages, updateOf } from "./two-rings.ts";

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

  test("an override for one cluster costs the others one write each, and changes nothing there", () => {
    const world = completeWorld();
    const generations = (): readonly unknown[] =>
      [...world.children.values()].map(({ metadata }) => [metadata.name, metadata.generation]);
    const before = generations();
    const patch = { version: "1.22.1" };
    world.edit({ overrides: [{ name: "one", clusters: ["rest-3"], patch }] });
    world.run(["Complete"]);
    const changed = generations().filter((one, at) => String(one) !== String(before[at]));
    expect(changed).toEqual([["prod-rest-3", 2]]);
    expect(world.versions()).toMatchObject({ "rest-2": "1.22.0", "rest-3": "1.22.1" });
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

  describe("the last cluster of a set", () => {
    const selector = { matchLabels: { ring: "prod" } };
    const none = { kind: "clusters", clusters: [] } as const;

    function lastCluster(): SetWorld {
      const world = new SetWorld({}, [
        { name: "a", labels: { ring: "prod" }, fate: () => "ready" },
      ]);
      world.set = {
        ...world.set,
        spec: { ...world.set.spec, clusters: { from: "Selector", selector } },
      };
      world.settle();
      world.pass(minute);
      world.settle();
      expect(world.children.size).toBe(1);
      return world;
    }

    function left(world: SetWorld): number {
      world.selection = none;
      world.settle();
      world.pass(11 * minute);
      world.settle();
      return world.children.size;
    }

    test("leaves when its label was changed", () => {
      const world = lastCluster();
      world.clusters.set("a", { name: "a", labels: { ring: "other" }, fate: () => "ready" });
      expect(left(world)).toBe(0);
    });

    test("stays when only a property of it is gone, which its cluster tells", () => {
      const world = lastCluster();
      const matchProperties = [{ name: "location", operator: "Exists" as const }];
      const { spec } = world.set;
      world.set = {
        ...world.set,
        spec: { ...spec, clusters: { from: "Selector", selector: { matchProperties } } },
      };
      expect(left(world)).toBe(1);
    });

    test("stays when another one leaves with it", () => {
      const world = lastCluster();
      world.clusters.set("b", { name: "b", labels: { ring: "prod" }, fate: () => "ready" });
      for (let round = 0; round < 3; round += 1) {
        world.settle();
        world.pass(minute);
      }
      expect(world.children.size).toBe(2);
      for (const name of ["a", "b"])
        world.clusters.set(name, { name, labels: { ring: "other" }, fate: () => "ready" });
      expect(left(world)).toBe(2);
    });

    test("stays when its ClusterProfile is gone", () => {
      const world = lastCluster();
      world.clusters.delete("a");
      expect(left(world)).toBe(1);
    });

    test("stays when the selector of the set was changed", () => {
      const world = lastCluster();
      world.edit({ clusters: { from: "Selector", selector: { matchLabels: { ring: "typo" } } } });
      expect(left(world)).toBe(1);
    });
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

function deletedWorld(deletionPolicy: "Orphan" | "Delete") {
  const world = completeWorld();
  world.edit({ deletionPolicy });
  const deletionTimestamp = "2026-11-25T12:00:00Z";
  world.set = { ...world.set, metadata: { ...world.set.metadata, deletionTimestamp } };
  return world;
}

describe("a set that is being deleted", () => {
  test("leaves all components at once, or removes them stage by stage, the last stage first", () => {
    expect(deletedWorld("Orphan").decide().removals.orphan).toHaveLength(7);
    const world = deletedWorld("Delete");
    const rounds: string[][] = [];
    while (world.children.size > 0) {
      const decision = world.decide();
      rounds.push(decision.removals.remove.map(({ name }) => name.split("-")[1] ?? ""));
      world.write(decision);
    }
    const [rest, canary] = [["rest", "rest"], ["canary"]];
    expect(rounds).toEqual([rest, rest, ["rest"], canary, canary]);
  });

  test("has no more in deletion than the stage allows", () => {
    const world = deletedWorld("Delete");
    const key = "fleet/rest-1";
    const child = world.children.get(key);
    const deletionTimestamp = "2026-11-25T12:00:00Z";
    if (child !== undefined) {
      world.children.set(key, { ...child, metadata: { ...child.metadata, deletionTimestamp } });
    }
    expect(world.decide().removals.remove).toHaveLength(1);
  });
});
