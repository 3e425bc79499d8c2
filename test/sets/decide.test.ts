import { describe, expect, test } from "vitest";

import { steering } from "../../api/fleet-set.ts";
import { ring, rolloutWith, stageOfRing } from "./set-world.ts";
import { completeWorld, minute, next, stages, updateOf } from "./two-rings.ts";

describe("a rollout", () => {
  test("changes the canary first, and as many at once as the stage allows", () => {
    const world = completeWorld();
    world.edit(next);
    const first = world.settle();
    expect(Object.values(world.versions()).filter((version) => version === "1.23.0")).toHaveLength(
      1,
    );
    expect(first.status.rollout).toMatchObject({ phase: "Rolling", stage: "canary" });
    expect(first.status.stages?.map(({ name, done }) => [name, done])).toEqual([
      ["canary", 0],
      ["rest", 0],
    ]);
    const end = world.run(["Complete"]);
    expect(new Set(Object.values(world.versions()))).toEqual(new Set(["1.23.0"]));
    expect(end.status.currentRevision).toBe(updateOf(world));
    expect(end.status.clusters).toMatchObject({ selected: 7, done: 7, failed: 0 });
    expect(end.status.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  });

  test("costs at most two writes a cluster and four a rollout", () => {
    const world = completeWorld();
    world.edit(next);
    const before = world.writes;
    world.run(["Complete"]);
    expect(world.writes - before).toBeLessThanOrEqual(2 * 7 + 4);
  });

  test("writes nothing when nothing has changed", () => {
    const world = completeWorld();
    const before = world.writes;
    world.pass(minute);
    world.settle();
    expect(world.writes).toBe(before);
  });

  test("halts at the canary, and leaves all others alone", () => {
    const world = completeWorld({}, ["canary-1", "canary-2"]);
    world.edit(next);
    const halted = world.run(["Halted"]);
    expect(halted.stamps).toEqual([]);
    expect(halted.status.notable?.[0]).toMatchObject({ state: "TimedOut" });
    const changed = Object.entries(world.versions()).filter(([, version]) => version === "1.23.0");
    expect(changed).toHaveLength(1);
    expect(halted.status.currentRevision).not.toBe(halted.status.updateRevision);
  });

  test("passes a stage with as many failures as it allows", () => {
    const world = completeWorld({}, ["rest-3"]);
    world.edit(next);
    const end = world.run(["Complete"]);
    expect(end.status.clusters).toMatchObject({ done: 6, failed: 1 });
    expect(end.status.conditions?.find(({ type }) => type === "Healthy")).toMatchObject({
      status: "False",
      reason: "TimedOut",
    });
  });

  test("goes on after a halt when somebody asks to try again and the clusters were mended", () => {
    const bad = ["canary-1", "canary-2"];
    const world = completeWorld({}, bad);
    world.edit(next);
    world.run(["Halted"]);
    bad.length = 0;
    for (const [name, cluster] of world.clusters) {
      world.clusters.set(name, { ...cluster, fate: () => "ready" });
    }
    world.annotate(steering.retry, updateOf(world));
    world.run(["Complete"]);
    expect(new Set(Object.values(world.versions()))).toEqual(new Set(["1.23.0"]));
  });

  test("is paused by the spec and by an annotation, and goes on where it was", () => {
    const world = completeWorld();
    world.edit(next);
    world.settle();
    world.annotate(steering.pause, "an incident");
    world.pass(20 * minute);
    expect(world.settle().status.rollout?.phase).toBe("Paused");
    world.annotate(steering.pause, undefined);
    world.edit({ rollout: rolloutWith({ stages, paused: true }) });
    expect(world.settle().stamps).toEqual([]);
    world.edit({ rollout: rolloutWith({ stages }) });
    world.run(["Complete"]);
    expect(world.set.status?.clusters).toMatchObject({ done: 7, failed: 0 });
  });
});

describe("gates", () => {
  const gated = [
    stageOfRing("canary", { maxConcurrency: 2, after: { soak: "30m", approval: true } }),
    stageOfRing("rest", { maxConcurrency: 5 }),
  ];

  test("P1, P10: a stage is watched for its soak also on updates, and approved only after it", () => {
    const world = completeWorld();
    world.edit({ ...next, rollout: rolloutWith({ stages: gated }) });
    world.run(["Soaking"]);
    world.annotate(`${steering.approve}canary-after`, `${updateOf(world)} alice`);
    world.pass(29 * minute);
    expect(world.settle().status.rollout?.phase).toBe("Soaking");
    world.pass(2 * minute);
    const rolling = world.settle();
    expect(rolling.status.rollout?.phase).toBe("Rolling");
    expect(rolling.status.stages?.[0]).toMatchObject({ state: "Passed", approvedBy: "alice" });
  });

  test("who approved is a plain text in the status, whatever the annotation says", () => {
    const world = completeWorld();
    world.edit({ ...next, rollout: rolloutWith({ stages: gated }) });
    world.run(["Soaking"]);
    const user = "al\u202eice\u001b[31m\u0007\u{e0041}";
    world.annotate(`${steering.approve}canary-after`, `${updateOf(world)} ${user}`);
    world.pass(31 * minute);
    const { stages: reached } = world.settle().status;
    expect(reached?.[0]).toMatchObject({ state: "Passed", approvedBy: "alice" });
  });

  test("a soak begins again when the stage broke in it, however short the rest of it was", () => {
    const broken: string[] = [];
    const world = completeWorld({}, broken);
    world.edit({ ...next, rollout: rolloutWith({ stages: gated }) });
    world.run(["Soaking"]);
    world.pass(29 * minute);
    broken.push("canary-2");
    world.pass(5_000);
    expect(world.settle().status.rollout?.phase).toBe("Rolling");
    world.pass(2 * minute);
    world.settle();
    broken.length = 0;
    world.pass(5_000);
    expect(world.settle().status.rollout?.phase).toBe("Soaking");
    world.pass(29 * minute);
    expect(world.settle().status.rollout?.phase).toBe("Soaking");
    world.pass(2 * minute);
    expect(world.settle().status.rollout?.phase).toBe("AwaitingApproval");
  });

  test("an approval of another revision approves nothing", () => {
    const world = completeWorld();
    world.annotate(`${steering.approve}canary-after`, `${updateOf(world)} alice`);
    world.edit({ ...next, rollout: rolloutWith({ stages: gated }) });
    const waiting = world.run(["AwaitingApproval"]);
    expect(waiting.stamps).toEqual([]);
    world.pass(24 * 60 * minute);
    expect(world.settle().status.rollout?.phase).toBe("AwaitingApproval");
  });

  test("a stage waits for an approval before it begins", () => {
    const world = completeWorld();
    const first = stageOfRing("canary", { before: { approval: true } });
    world.edit({ ...next, rollout: rolloutWith({ stages: [first, stageOfRing("rest")] }) });
    expect(world.settle().status.rollout).toMatchObject({
      phase: "AwaitingApproval",
      stage: "canary",
    });
    world.annotate(`${steering.approve}canary-before`, `${updateOf(world)} alice`);
    expect(world.settle().status.rollout?.phase).toBe("Rolling");
  });

  test("P6: a stage without clusters is neither watched nor approved", () => {
    const world = completeWorld();
    const empty = stageOfRing("nobody", { after: { soak: "1h", approval: true } });
    world.edit({ ...next, rollout: rolloutWith({ stages: [empty, ...stages] }) });
    world.run(["Complete"]);
    expect(world.set.status?.stages?.[0]).toMatchObject({ name: "nobody", state: "Empty" });
  });

  test("clusters start only while a window is open, and what runs goes on", () => {
    const world = completeWorld();
    const windows = [{ cron: "0 22 * * *", duration: "1h" }];
    world.edit({
      ...next,
      rollout: rolloutWith({ stages: [stageOfRing("canary"), stageOfRing("rest")], windows }),
    });
    const closed = world.settle();
    expect(closed.stamps).toEqual([]);
    expect(closed.nextDecisionAt).toBe(Date.parse("2026-11-25T22:00:00Z"));
    world.pass((closed.nextDecisionAt ?? 0) - world.now);
    expect(world.settle().status.rollout?.phase).toBe("Rolling");
    expect(Object.values(world.versions())).toContain("1.23.0");
  });
});

describe("members", () => {
  test("P4: a cluster that joins a passed stage is brought to the revision, and reopens nothing", () => {
    const world = completeWorld();
    world.edit(next);
    world.run(["Complete"]);
    const [joining] = ring("late", 1);
    if (joining !== undefined)
      world.clusters.set("late-1", { ...joining, labels: { ring: "rest" } });
    world.settle();
    expect(world.versions()["late-1"]).toBe("1.23.0");
    expect(world.set.status?.rollout?.phase).toBe("Complete");
  });

  test("a cluster that joins a stage before its turn gets the revision that was completed last", () => {
    const world = completeWorld();
    world.edit(next);
    world.settle();
    const [joining] = ring("late", 1);
    if (joining !== undefined)
      world.clusters.set("late-1", { ...joining, labels: { ring: "rest" } });
    world.settle();
    expect(world.versions()["late-1"]).toBe("1.22.0");
    world.run(["Complete"]);
    expect(world.versions()["late-1"]).toBe("1.23.0");
  });

  test("clusters that join a stage before its turn obey its limit", () => {
    const world = completeWorld();
    world.edit(next);
    world.settle();
    for (const cluster of ring("late", 5)) {
      world.clusters.set(cluster.name, { ...cluster, labels: { ring: "rest" } });
    }
    world.settle();
    const late = Object.keys(world.versions()).filter((name) => name.startsWith("late"));
    expect(late).toHaveLength(2);
  });

  test("P5: clusters of no stage come last, are excluded, or keep the rollout from starting", () => {
    const world = completeWorld();
    const only = [stageOfRing("canary", { maxConcurrency: 2 })];
    world.edit({ ...next, rollout: rolloutWith({ stages: only, unmatched: "Refuse" }) });
    expect(world.settle().status.rollout?.phase).toBe("Blocked");
    world.edit({ rollout: rolloutWith({ stages: only, unmatched: "Exclude" }) });
    world.run(["Complete"]);
    expect(world.versions()["rest-1"]).toBe("1.22.0");
    world.edit({
      template: { spec: { version: "1.23.1" } },
      rollout: rolloutWith({ stages: only }),
    });
    world.run(["Complete"]);
    expect(world.versions()["rest-1"]).toBe("1.23.1");
  });

  test("P8: clusters that are dark or held hold no slot, and the stage passes within its budget", () => {
    const world = completeWorld();
    const dark = world.clusters.get("rest-2");
    if (dark !== undefined) world.clusters.set("rest-2", { ...dark, fate: () => "dark" });
    const held = world.clusters.get("rest-3");
    if (held !== undefined) {
      world.clusters.set("rest-3", {
        ...held,
        labels: { ...held.labels, "knfleet.dev/hold": "true" },
      });
    }
    world.edit(next);
    world.run(["Complete"]);
    expect(world.versions()).toMatchObject({
      "rest-1": "1.23.0",
      "rest-2": "1.22.0",
      "rest-3": "1.22.0",
    });
    if (dark !== undefined) world.clusters.set("rest-2", dark);
    world.pass(1_000);
    world.settle();
    expect(world.versions()["rest-2"]).toBe("1.23.0");
  });

  test("too many dark clusters stop a stage without failing it", () => {
    const world = completeWorld();
    for (const name of ["rest-1", "rest-2"]) {
      const cluster = world.clusters.get(name);
      if (cluster !== undefined) world.clusters.set(name, { ...cluster, fate: () => "dark" });
    }
    world.edit(next);
    world.run(["Waiting"]);
    expect(world.set.status?.rollout?.waitingFor).toMatch(
      /Stage rest waits: 2 clusters are unreachable, maxUnreachable is 1 /,
    );
  });
});
