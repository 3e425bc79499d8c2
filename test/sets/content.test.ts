import { describe, expect, test } from "vitest";

import { holdLabel, setAnnotations, steering } from "../../api/fleet-set.ts";
import { contentOf, pinnedContent } from "../../sets/content.ts";
import { DesiredSpecs, revisionNameOf } from "../../sets/desired-spec.ts";
import { ring, rolloutWith, SetWorld } from "./set-world.ts";
import { minute, stages } from "./two-rings.ts";

const before = ["1.22.1", "1.22.0", "1.21.0"];
const after = ["1.22.2", ...before];

/** A set that names a minor version only, complete with the newest patch that there is. */
function minorWorld(extra: object = {}): SetWorld {
  const world = new SetWorld({ stages, ...extra }, [...ring("canary", 1), ...ring("rest", 3)]);
  world.available = before;
  world.edit({ template: { spec: { version: "1.22" } } });
  world.run(["Complete"]);
  return world;
}

const refusesNewest = (version: string) => (version === "1.22.2" ? "invalid" : "ready");
const all = (version: string) => ({
  "canary-1": version,
  "rest-1": version,
  "rest-2": version,
  "rest-3": version,
});

test("every text of version is resolved when a revision begins, in overrides too, and an exact one stays", () => {
  const { set } = new SetWorld({}, []);
  const overrides = [
    { name: "old", clusters: ["a"], patch: { version: "1.21" } },
    { name: "newest", clusters: ["b"], patch: { version: null } },
    { name: "exact", clusters: ["c"], patch: { version: "v1.22.0" } },
  ];
  const spec = { ...set.spec, template: { spec: { version: "1.22" } }, overrides };
  const content = contentOf({ ...set, spec }, { available: after });
  const versions = { "1.22": "1.22.2", "1.21": "1.21.0", "": "1.22.2" };
  expect(content).toEqual({ template: spec.template, overrides, versions });
  const pinned = pinnedContent(content);
  expect(pinned.template.spec?.version).toBe("1.22.2");
  expect(pinned.overrides?.map(({ patch }) => patch["version"])).toEqual([
    "1.21.0",
    "1.22.2",
    "v1.22.0",
  ]);
  const exact = { ...set, spec: { ...set.spec, template: { spec: { version: "1.22.0" } } } };
  expect(revisionNameOf({ ...exact, spec: contentOf(exact, { available: after }) })).toBe(
    revisionNameOf(exact),
  );
});

test("the version of a user's own manifests is left as it is written", () => {
  const spec = { version: "1.22", manifests: [{ URL: "file:own.yaml" }] };
  const specs = new DesiredSpecs({ template: { spec }, versions: { "1.22": "1.22.2" } });
  expect(specs.withExactVersion(spec)).toBe(spec);
});

describe("a newer patch in the release folder", () => {
  test("is a new revision that begins at the first stage", () => {
    const world = minorWorld();
    expect(world.versions()).toEqual(all("1.22.1"));
    const complete = world.set.status?.currentRevision;
    world.available = after;
    const { status } = world.settle();
    expect(status).toMatchObject({
      currentRevision: complete,
      rollout: { phase: "Rolling", stage: "canary" },
    });
    expect(world.versions()).toEqual({ ...all("1.22.1"), "canary-1": "1.22.2" });
    world.run(["Complete"]);
    expect(world.versions()).toEqual(all("1.22.2"));
  });

  test("waits while the set is paused, for a window and for an approval, and leaves a held cluster alone", () => {
    const paused = minorWorld();
    paused.annotate(steering.pause, "not now");
    paused.available = after;
    expect(paused.settle().status.rollout?.phase).toBe("Paused");
    expect(paused.versions()).toEqual(all("1.22.1"));

    const windows = [{ cron: "0 3 * * *", duration: "1h", timeZone: "Europe/Berlin" }];
    const closed = minorWorld();
    closed.edit({ rollout: rolloutWith({ stages, windows }) });
    closed.available = after;
    closed.settle();
    closed.pass(minute);
    expect(closed.settle().status.rollout?.phase).toBe("Waiting");
    expect(closed.versions()).toEqual(all("1.22.1"));

    const held = minorWorld();
    const cluster = held.clusters.get("rest-2");
    if (cluster === undefined) throw new Error("There is a cluster");
    held.clusters.set("rest-2", { ...cluster, labels: { ...cluster.labels, [holdLabel]: "true" } });
    held.available = after;
    held.run(["Complete"]);
    expect(held.versions()).toEqual({ ...all("1.22.2"), "rest-2": "1.22.1" });
  });

  test("that does not get ready is rolled back to the patch before", () => {
    const world = minorWorld({ onFailure: "Rollback" });
    for (const [name, cluster] of world.clusters) {
      world.clusters.set(name, { ...cluster, fate: refusesNewest });
    }
    world.available = after;
    world.run(["RolledBack"]);
    expect(world.versions()).toEqual(all("1.22.1"));
  });
});

/** A complete set whose revision has no exact version, as an earlier knfleet left it. */
function oldWorld(extra: object = {}): SetWorld {
  const world = new SetWorld({ stages, ...extra }, [...ring("canary", 1), ...ring("rest", 3)]);
  world.edit({ template: { spec: { version: "1.22" } } });
  world.run(["Complete"]);
  for (const [key, child] of world.children) {
    const status = { ...child.status, conditions: child.status?.conditions ?? [] };
    world.children.set(key, { ...child, status: { ...status, version: "1.22.1" } });
  }
  return world;
}

describe("a set that a knfleet without exact versions rolled out", () => {
  test("begins nothing when knfleet is upgraded, and begins with the first newer patch", () => {
    const world = oldWorld();
    const { writes } = world;
    world.available = before;
    expect(world.settle()).toMatchObject({
      stamps: [],
      status: { rollout: { phase: "Complete" } },
    });
    expect(world.writes).toBe(writes);
    world.available = after;
    world.run(["Complete"]);
    expect(world.versions()).toEqual(all("1.22.2"));
  });

  test("cannot go back to it, because nothing says which version that was", () => {
    const world = oldWorld({ onFailure: "Rollback" });
    for (const [name, cluster] of world.clusters) {
      world.clusters.set(name, { ...cluster, fate: refusesNewest });
    }
    world.available = after;
    const halted = world.run(["Halted"]);
    expect(halted.status.rollout?.waitingFor).toMatch(/does not say which exact version it had/);
  });
});

function digestWorld(extra: object = {}): SetWorld {
  const world = new SetWorld({ stages, ...extra }, [...ring("canary", 1), ...ring("rest", 3)]);
  world.digest = "before";
  world.run(["Complete"]);
  return world;
}

/** The clusters with the content of the newest digest. */
function changed(world: SetWorld): readonly string[] {
  const children = [...world.children].filter(([, { metadata }]) =>
    metadata.annotations?.[setAnnotations.content]?.endsWith(world.digest ?? ""),
  );
  return children.map(([key]) => key.slice("fleet/".length)).toSorted();
}

describe("another rendering of the same versions", () => {
  test("is a new revision, and a cluster is done only when its component says that it is installed", () => {
    const world = digestWorld();
    const generation = world.children.get("fleet/canary-1")?.metadata.generation;
    world.digest = "after";
    const { status } = world.settle();
    expect(status.rollout).toMatchObject({ phase: "Rolling", stage: "canary" });
    expect(changed(world)).toEqual(["canary-1"]);
    // The spec is the same, and the component has been ready all the time.
    expect(world.children.get("fleet/canary-1")?.metadata.generation).toBe(generation);
    expect(world.settle().status.clusters).toMatchObject({ updating: 1, pending: 3 });
    world.run(["Complete"]);
    expect(changed(world)).toEqual(["canary-1", "rest-1", "rest-2", "rest-3"]);
  });

  test("waits while the set is paused, and a held cluster keeps what it has", () => {
    const world = digestWorld();
    const cluster = world.clusters.get("rest-2");
    if (cluster === undefined) throw new Error("There is a cluster");
    world.clusters.set("rest-2", {
      ...cluster,
      labels: { ...cluster.labels, [holdLabel]: "true" },
    });
    world.annotate(steering.pause, "not now");
    world.digest = "after";
    world.settle();
    expect(changed(world)).toEqual([]);
    world.annotate(steering.pause, undefined);
    world.run(["Complete"]);
    expect(changed(world)).toEqual(["canary-1", "rest-1", "rest-3"]);
  });

  test("that comes back is the revision of before", () => {
    const world = digestWorld();
    const complete = world.set.status?.currentRevision;
    world.digest = "after";
    world.settle();
    world.digest = "before";
    world.run(["Complete"]);
    expect(world.set.status?.currentRevision).toBe(complete);
  });

  test("cannot be rolled back: the files of before are gone", () => {
    const world = digestWorld({ onFailure: "Rollback" });
    for (const [name, cluster] of world.clusters) {
      world.clusters.set(name, { ...cluster, fate: () => "stuck" });
    }
    world.digest = "after";
    const halted = world.run(["Halted"]);
    expect(halted.status.rollout?.waitingFor).toMatch(
      /had other release files or another rendering/,
    );
  });

  test("that cannot be known begins nothing", () => {
    const world = digestWorld();
    world.digest = undefined;
    const { writes } = world;
    expect(world.settle().status.rollout?.phase).toBe("Complete");
    expect(world.writes).toBe(writes);
  });

  test("of a set of an earlier knfleet is recorded without a rollout, and one write per cluster promises it", () => {
    const world = new SetWorld({ stages }, [...ring("canary", 1), ...ring("rest", 3)]);
    world.run(["Complete"]);
    const revisions = world.revisions.length;
    const generations = () =>
      [...world.children.values()].map(({ metadata }) => metadata.generation);
    const stamped = generations();
    world.digest = "first";
    expect(world.settle().status.rollout?.phase).toBe("Complete");
    for (let round = 0; round < 5; round += 1) {
      world.pass(10_000);
      world.settle();
    }
    expect(changed(world)).toEqual(["canary-1", "rest-1", "rest-2", "rest-3"]);
    expect(world.revisions).toHaveLength(revisions);
    expect(generations()).toEqual(stamped);
    world.digest = "second";
    expect(world.settle().status.rollout).toMatchObject({ phase: "Rolling", stage: "canary" });
  });
});
