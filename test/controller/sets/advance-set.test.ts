import { describe, expect, test } from "vitest";

import type { WatchEvent } from "../../../access/kube/kube-client.ts";
import { conditionOf } from "../../../api/conditions.ts";
import { revisionAnnotations, steering } from "../../../api/fleet-set.ts";
import { recordOf } from "../../../sets/status/record-entry.ts";
import { rolloutWith } from "../../sets/set-world.ts";
import { apiError } from "../../support/api-error.ts";
import { hubWith, rollout, SetHub, whenUnselected } from "./set-hub.ts";

const selectedReason = (hub: SetHub, key: string): string | undefined =>
  conditionOf(hub.set(key).status?.conditions, "Selected")?.reason;

describe("the acceptance of a selection", () => {
  test("serves once: the set is suspicious again when the selection shrinks later", async () => {
    const { hub, key } = await hubWith(["a", "b"]);
    expect(hub.names()).toEqual(["prod-a", "prod-b"]);
    const empty = async (): Promise<void> => {
      for (const name of ["a", "b"]) hub.drop("ClusterProfile", name);
      await hub.look(key);
    };
    await empty();
    expect(selectedReason(hub, key)).toBe("SuspiciousShrink");
    const { message = "" } = conditionOf(hub.set(key).status?.conditions, "Selected") ?? {};
    hub.annotate(key, steering.acceptSelection, / is ([0-9a-f]+)$/.exec(message)?.[1]);
    await hub.look(key);
    await hub.clock.advance(2_000);
    await hub.look(key);
    expect(hub.names()).toEqual([]);

    for (const name of ["a", "b"]) hub.putProfile(name);
    await hub.look(key);
    expect(hub.set(key).metadata.annotations).not.toHaveProperty(steering.acceptSelection);
    await hub.look(key);
    expect(hub.names()).toEqual(["prod-a", "prod-b"]);
    await empty();
    expect(selectedReason(hub, key)).toBe("SuspiciousShrink");
    await hub.clock.advance(2_000);
    await hub.look(key);
    expect(hub.names()).toEqual(["prod-a", "prod-b"]);
  });
});

const clustersOf = (hub: SetHub, key: string) => hub.set(key).status?.clusters ?? {};

describe("a component that the hub does not take", () => {
  const webhookAway = apiError(
    500,
    "InternalError",
    'failed calling webhook "components.knfleet.dev": no endpoints available for service "knfleet-webhook"',
  );

  test("is told as pending, with the words of the hub, and holds nothing else up", async () => {
    const hub = new SetHub();
    for (const name of ["a", "b", "gone"]) hub.putProfile(name);
    const key = hub.putSet({ rollout, whenUnselected });
    await hub.look(key);
    hub.drop("ClusterProfile", "gone");
    hub.putProfile("c");
    hub.faults.push({ verb: "apply", name: "prod-a", error: webhookAway });
    hub.edit(key, { template: { spec: { version: "1.23.0" } } });
    await expect(hub.look(key)).rejects.toBe(webhookAway);
    expect(hub.versions()).toEqual({
      "prod-a": "1.22.0",
      "prod-b": "1.23.0",
      "prod-c": "1.23.0",
      "prod-gone": "1.22.0",
    });
    expect(clustersOf(hub, key)).toMatchObject({ pending: 1, updating: 2, blocked: 0, failed: 0 });
    expect(hub.set(key).status?.rollout?.waitingFor).toBe(
      `The hub does not take the component for fleet/a: ${webhookAway.message}`,
    );
    await hub.clock.advance(2_000);
    await expect(hub.look(key)).rejects.toBe(webhookAway);
    expect(hub.names()).not.toContain("prod-gone");

    const { status } = hub.set(key);
    hub.writes.length = 0;
    await expect(hub.look(key)).rejects.toBe(webhookAway);
    expect(hub.set(key).status).toEqual(status);
    expect(hub.writes).toEqual([]);

    hub.annotate(key, steering.pause, "an emergency");
    await hub.look(key);
    expect(hub.set(key).status?.rollout?.waitingFor).toBeUndefined();
    hub.annotate(key, steering.pause, undefined);
    hub.faults.length = 0;
    await hub.look(key);
    await hub.look(key);
    expect(hub.versions()["prod-a"]).toBe("1.23.0");
    expect(hub.set(key).status?.rollout?.waitingFor).toBeUndefined();
    expect(clustersOf(hub, key)).toMatchObject({ pending: 0, updating: 3 });
  });

  test("is told by the error of a look in which another one has changed meanwhile", async () => {
    const { hub, key } = await hubWith(["a", "b"]);
    hub.faults.push({ verb: "apply", name: "prod-a", error: apiError(409, "Conflict") });
    hub.faults.push({ verb: "apply", name: "prod-b", error: webhookAway });
    hub.edit(key, { template: { spec: { version: "1.23.0" } } });
    await expect(hub.look(key)).rejects.toBe(webhookAway);
    hub.faults.length = 1;
    expect(await hub.look(key)).toEqual({ kind: "after", ms: 250 });
  });

  test("is told as blocked at once, when the hub refuses it", async () => {
    const hub = new SetHub();
    for (const name of ["a", "b"]) hub.putProfile(name);
    const key = hub.putSet({ rollout });
    const error = apiError(403, "Forbidden", "denied by a policy");
    hub.faults.push({ verb: "apply", name: "prod-a", error });
    await hub.look(key);
    expect(clustersOf(hub, key)).toMatchObject({ pending: 0, updating: 1, blocked: 1 });
    expect(hub.set(key).status?.notable).toMatchObject([
      { cluster: "fleet/a", reason: "Refused", message: "denied by a policy" },
    ]);
  });

  test("is told, too, when it is to be deleted with its set", async () => {
    const hub = new SetHub();
    for (const name of ["a", "b"]) hub.putProfile(name);
    const key = hub.putSet({ rollout, deletionPolicy: "Delete" });
    await hub.look(key);
    const set = hub.set(key);
    hub.put({ ...set, metadata: { ...set.metadata, deletionTimestamp: "2026-11-25T12:00:00Z" } });
    hub.faults.push({ verb: "remove", name: "prod-a", error: webhookAway });
    await expect(hub.look(key)).rejects.toBe(webhookAway);
    expect(hub.names()).toEqual(["prod-a"]);
    const { message } = conditionOf(hub.set(key).status?.conditions, "Progressing") ?? {};
    expect(message).toContain("no endpoints available");
  });
});

test("old revisions go when a rollout is complete, and not before", async () => {
  const hub = new SetHub();
  hub.putProfile("a");
  const key = hub.putSet({ rollout, revisionHistoryLimit: 0 });
  const takeOver = async (): Promise<void> => {
    for (const component of hub.components()) {
      const { version = "" } = component.spec ?? {};
      const conditions = [{ type: "Ready", status: "True" }];
      hub.put({ ...component, status: { observedGeneration: 1, conditions, version } });
    }
    await hub.look(key);
  };
  await hub.look(key);
  await takeOver();
  for (const version of ["1.23.0", "1.24.0"]) {
    hub.edit(key, { template: { spec: { version } } });
    await hub.look(key);
  }
  // The cluster takes the version that it got first, and then the last one.
  await takeOver();
  await hub.look(key);
  expect(hub.set(key).status?.rollout?.phase).toBe("Rolling");
  expect(hub.revisions()).toHaveLength(3);
  for (let round = 0; round < 2; round += 1) await takeOver();
  expect(hub.set(key).status?.rollout?.phase).toBe("Complete");
  expect(hub.revisions().map(({ metadata }) => metadata.name)).toEqual([
    hub.set(key).status?.updateRevision,
  ]);
});

test("a component that is another one since it was judged is not taken over", async () => {
  const hub = new SetHub();
  hub.putProfile("a");
  const clusterProfileRef = { namespace: "fleet", name: "a" };
  const foreign = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: { namespace: "fleet", name: "mine", uid: "first" },
    spec: { clusterProfileRef, version: "1.22.0" },
  };
  hub.put(foreign);
  const key = hub.putSet({ rollout, adoption: "IfEqual" });
  hub.put({ ...foreign, metadata: { ...foreign.metadata, uid: "first" } });
  hub.before.set("get mine", () => {
    hub.put({
      ...foreign,
      metadata: { ...foreign.metadata, uid: "second" },
      spec: { clusterProfileRef, version: "1.20.0" },
    });
  });
  expect(await hub.look(key)).toMatchObject({ kind: "after" });
  expect(hub.versions()).toEqual({ mine: "1.20.0" });
  expect(hub.components()[0]?.metadata.labels).toBeUndefined();
});

test("an approval does not count when its revision is rolled out again", async () => {
  const hub = new SetHub();
  hub.putProfile("a");
  const gated = { name: "all", selector: {}, before: { approval: true } };
  const key = hub.putSet({ rollout: rolloutWith({ stages: [gated] }) });
  await hub.look(key);
  const approval = `${steering.approve}all-before`;
  hub.annotate(key, approval, `${hub.set(key).status?.updateRevision ?? ""} alice`);
  await hub.look(key);
  expect(hub.versions()).toEqual({ "prod-a": "1.22.0" });
  for (const version of ["1.23.0", "1.22.0"]) {
    hub.edit(key, { template: { spec: { version } } });
    // oxlint-disable-next-line no-await-in-loop -- one edit follows the other
    await hub.look(key);
    expect(hub.set(key).metadata.annotations ?? {}).not.toHaveProperty(approval);
    expect(hub.set(key).status?.rollout?.phase).toBe("AwaitingApproval");
  }
});

test("what a user did goes from the set into the record of the revision, with an Event, and what is skipped goes with the revision", async () => {
  const { hub, key } = await hubWith(["a", "b"]);
  const [first] = hub.revisions();
  const skipped = { [steering.skipClusters]: `${first?.metadata.name} fleet/a` };
  hub.annotate(key, steering.skipClusters, skipped[steering.skipClusters]);
  const told = { at: "2026-01-01T00:00:00Z", user: "alice", reason: "broken disk" };
  const deed = { ...told, subject: "cluster fleet/a" };
  hub.annotate(key, `${steering.did}skip`, JSON.stringify(deed));
  await hub.look(key);
  expect(hub.set(key).metadata.annotations).not.toHaveProperty([`${steering.did}skip`]);
  const record = () =>
    recordOf(hub.revisions()[0]?.metadata.annotations?.[revisionAnnotations.record]);
  expect(record().map(({ what }) => what)).toContain("begin");
  expect(record()).toContainEqual({ what: "skip", ...deed, stage: expect.any(String) });
  await hub.look(key);
  expect(record().filter(({ what }) => what === "skip")).toHaveLength(1);
  expect(hub.set(key).status?.clusters).toMatchObject({ excluded: 1 });
  hub.edit(key, { template: { spec: { version: "1.23.0" } } });
  await hub.look(key);
  expect(hub.set(key).metadata.annotations).not.toHaveProperty([steering.skipClusters]);
  expect(hub.set(key).status?.clusters).toMatchObject({ excluded: 0 });
});

test("a deed that arrives while another one is written is told, too", async () => {
  const { hub, key } = await hubWith(["a", "b"]);
  const deed = { at: "2026-01-01T00:00:00Z", user: "alice", reason: "broken disk" };
  const later = { ...deed, user: "bob", reason: "no network" };
  const skip = `${steering.did}skip`;
  const [revision] = hub.revisions();
  hub.annotate(key, skip, JSON.stringify(deed));
  hub.watchers.add((event) => {
    const isFirst = hub.set(key).metadata.annotations?.[skip] === JSON.stringify(deed);
    const isRecord =
      event.type === "MODIFIED" && event.object.metadata.name === revision?.metadata.name;
    if (isRecord && isFirst) hub.annotate(key, skip, JSON.stringify(later));
  });
  await hub.look(key);
  const text = hub.revisions()[0]?.metadata.annotations?.[revisionAnnotations.record];
  const users = recordOf(text).flatMap(({ what, user }) => (what === "skip" ? [user] : []));
  expect(users).toEqual(["alice", "bob"]);
  expect(hub.set(key).metadata.annotations).not.toHaveProperty([skip]);
});

test("an abort outlives a hub that does not take the mark of the revision", async () => {
  const hub = new SetHub();
  hub.putProfile("a");
  const key = hub.putSet({ rollout: { ...rollout, onFailure: "Rollback" } });
  const takeOver = async (): Promise<void> => {
    const [component] = hub.components();
    const { version = "" } = component?.spec ?? {};
    const conditions = [{ type: "Ready", status: "True" }];
    if (component !== undefined) {
      const { generation = 1 } = component.metadata;
      hub.put({ ...component, status: { observedGeneration: generation, conditions, version } });
    }
    await hub.look(key);
  };
  await hub.look(key);
  await takeOver();
  expect(hub.set(key).status?.rollout?.phase).toBe("Complete");
  hub.edit(key, { template: { spec: { version: "1.22.1" } } });
  await hub.look(key);
  const revision = hub.set(key).status?.updateRevision ?? "";
  const approval = `${steering.approve}all-after`;
  hub.annotate(key, approval, `${revision} alice`);
  await hub.look(key);
  hub.annotate(key, steering.abort, `${revision} wrong registry`);
  const error = apiError(500, "InternalError");
  // The hub takes the abort into the record, and not the mark after it.
  const breaks = (event: WatchEvent): void => {
    if (event.type !== "MODIFIED" || event.object.metadata.name !== revision) return;
    hub.faults.push({ verb: "patch", name: revision, error });
  };
  hub.watchers.add(breaks);
  await expect(hub.look(key)).rejects.toBe(error);
  hub.watchers.delete(breaks);
  // The approval goes first: it must not count when the revision is tried again.
  expect(hub.set(key).metadata.annotations).toEqual({
    [steering.abort]: `${revision} wrong registry`,
  });
  hub.faults.length = 0;
  await hub.look(key);
  expect(hub.set(key).status?.rollout?.phase).toMatch(/^Roll(ing|ed)Back$/);
  expect(hub.set(key).metadata.annotations).toEqual({});
});

test("a look records the exact version that the release folder has, and stamps it; the next leader with a newer patch begins a rollout", async () => {
  const hub = new SetHub();
  for (const name of ["a", "b"]) hub.putProfile(name);
  hub.available = ["1.22.1", "1.22.0"];
  const key = hub.putSet({ template: { spec: { version: "1.22" } }, rollout });
  await hub.look(key);
  expect(hub.versions()).toEqual({ "prod-a": "1.22.1", "prod-b": "1.22.1" });
  expect(hub.revisions().map((one) => one["data"])).toEqual([
    { template: { spec: { version: "1.22" } }, overrides: [], versions: { "1.22": "1.22.1" } },
  ]);
  hub.annotate(key, steering.pause, "wait");
  hub.available = ["1.22.2", ...hub.available];
  await hub.look(key);
  expect(hub.set(key).status).toMatchObject({ rollout: { phase: "Paused" } });
  expect(hub.versions()).toEqual({ "prod-a": "1.22.1", "prod-b": "1.22.1" });
  hub.annotate(key, steering.pause, undefined);
  await hub.look(key);
  expect(hub.versions()).toEqual({ "prod-a": "1.22.2", "prod-b": "1.22.2" });
  expect(hub.revisions()).toHaveLength(2);
});
