import { describe, expect, test } from "vitest";

import { apiError } from "../../support/api-error.ts";
import { answered, leadSets, leadSetsOn } from "./lead-sets.ts";
import { SetHub } from "./set-hub.ts";

const deletionTimestamp = "2026-11-25T12:00:00Z";

/** A led hub whose set was deleted with the policy Orphan, and then given the policy Delete. */
async function deletedTwice() {
  const hub = new SetHub();
  hub.putProfile("eu");
  const key = hub.putSet();
  leadSets(hub);
  await answered();
  expect(hub.names()).toEqual(["prod-eu"]);
  const { metadata, ...set } = hub.set(key);
  // The pace keeps the controller from looking between the two.
  hub.put({ ...set, metadata: { ...metadata, deletionTimestamp, generation: 2 } });
  hub.edit(key, { deletionPolicy: "Delete" });
  await answered();
  return { hub, key };
}

test("a set that is being deleted keeps the policy that it was deleted with, whatever is stored afterwards", async () => {
  const { hub, key } = await deletedTwice();
  await hub.clock.advance(2_000);
  await answered();
  expect(hub.names()).toEqual(["prod-eu"]);
  expect(hub.components()[0]?.metadata.labels).toEqual({});
  expect(hub.set(key)).toMatchObject({
    metadata: { finalizers: [] },
    spec: { deletionPolicy: "Delete" },
  });
});

test("such a set keeps that policy, too, while the watch does not show what was written", async () => {
  const { hub } = await deletedTwice();
  hub.watchers.clear();
  hub.faults.push({ verb: "patch", name: "prod-eu", error: apiError(500, "InternalError") });
  const writes = hub.writes.length;
  await hub.clock.advance(1_000);
  await answered();
  // The answers to these writes have the stored spec.
  expect(hub.writes.slice(writes)).toEqual(["replace prod", "replace prod"]);
  hub.faults.length = 0;
  await hub.clock.advance(2_000);
  await answered();
  expect(hub.names()).toEqual(["prod-eu"]);
  expect(hub.components()[0]?.metadata.labels).toEqual({});
});

/** A led hub with a component of a set that a controller has seen with this policy. */
async function seenWith(deletionPolicy: "Delete" | "Orphan") {
  const hub = new SetHub();
  hub.putProfile("eu");
  const key = hub.putSet({ deletionPolicy });
  const told: string[] = [];
  const events = {
    record: async (_: unknown, { reason }: { readonly reason: string }) => void told.push(reason),
  };
  const lead = () => leadSetsOn(hub, { events });
  const first = lead();
  await answered();
  await hub.clock.advance(1_000);
  await answered();
  expect(hub.names()).toEqual(["prod-eu"]);
  expect(hub.set(key).status?.observedGeneration).toBe(1);
  return { hub, key, told, first, lead };
}

/** Deletes a set, as an API server does, and gives it the policy Delete if that is not what it has. */
function deleteSet(hub: SetHub, key: string): void {
  const { metadata, ...set } = hub.set(key);
  const isEdit = set.spec.deletionPolicy !== "Delete";
  const generation = (metadata.generation ?? 0) + (isEdit ? 2 : 1);
  const spec = { ...set.spec, deletionPolicy: "Delete" as const };
  hub.put({ ...set, metadata: { ...metadata, deletionTimestamp, generation }, spec });
}

async function lookedAt(hub: SetHub): Promise<void> {
  for (let second = 0; second < 3; second += 1) {
    await answered();
    await hub.clock.advance(1_000);
  }
  await answered();
}

describe("the components of a deleted set stay when nobody saw its policy before the deletion", () => {
  test("by a new leader, which sees the set first while it is being deleted", async () => {
    const { hub, key, told, first, lead } = await seenWith("Orphan");
    await first[Symbol.asyncDispose]();
    deleteSet(hub, key);
    await using _second = lead();
    await lookedAt(hub);
    expect(hub.components()[0]?.metadata.labels).toEqual({});
    expect(hub.set(key).metadata.finalizers).toEqual([]);
    expect(told).toContain("DeletionPolicyIgnored");
  });

  test("after a gap of the watch, which shows the deletion and the change at once", async () => {
    const { hub, key, told, first } = await seenWith("Orphan");
    await using _first = first;
    deleteSet(hub, key);
    await lookedAt(hub);
    expect(hub.components()[0]?.metadata.labels).toEqual({});
    expect(told).toContain("DeletionPolicyIgnored");
  });

  test("by a third leader, when the second one has written the status of the deletion", async () => {
    const { hub, key, first, lead } = await seenWith("Delete");
    // The component cannot be deleted yet.
    hub.faults.push({ verb: "remove", name: "prod-eu", error: apiError(500, "InternalError") });
    await using _first = first;
    deleteSet(hub, key);
    await lookedAt(hub);
    expect(hub.set(key).status).toMatchObject({
      observedGeneration: 1,
      conditions: expect.arrayContaining([expect.objectContaining({ reason: "Deleting" })]),
    });
    await first[Symbol.asyncDispose]();
    // Without a change of the spec it goes on as it began.
    const second = lead();
    await lookedAt(hub);
    await second[Symbol.asyncDispose]();
    expect(hub.set(key).status?.observedGeneration).toBe(1);
    expect(hub.components()[0]?.metadata.labels).not.toEqual({});
    hub.edit(key, { clusters: { ...hub.set(key).spec.clusters, exclude: [] } });
    hub.faults.length = 0;
    await using _third = lead();
    await lookedAt(hub);
    expect(hub.components()[0]?.metadata.labels).toEqual({});
  });
});

test("a new leader deletes the components of a set that its predecessor saw with Delete, and that was deleted meanwhile", async () => {
  const { hub, key, told, first, lead } = await seenWith("Delete");
  await first[Symbol.asyncDispose]();
  deleteSet(hub, key);
  await using _second = lead();
  await lookedAt(hub);
  expect(hub.names()).toEqual([]);
  expect(told).not.toContain("DeletionPolicyIgnored");
});

test("a component that somebody deleted, and an approval of another revision, are told by Events", async () => {
  const hub = new SetHub();
  hub.putProfile("eu");
  const key = hub.putSet();
  const told: string[] = [];
  const record = async (_: unknown, { reason }: { readonly reason: string }) =>
    void told.push(reason);
  leadSets(hub, { events: { record } });
  await answered();
  hub.drop("KnativeServing", "prod-eu");
  hub.annotate(key, "knfleet.dev/approve.all-before", "prod-0123456789 alice");
  await answered();
  expect(told).toEqual(expect.arrayContaining(["ComponentDeleted", "ApprovalIgnored"]));
});

test("a new leader writes nothing where all is as the one before has left it", async () => {
  const hub = new SetHub();
  hub.putProfile("eu");
  hub.putSet();
  const first = leadSetsOn(hub);
  for (let second = 0; second < 5; second += 1) {
    await answered();
    await hub.clock.advance(1_000);
  }
  await first[Symbol.asyncDispose]();
  const writes = hub.writes.length;
  expect(writes).toBeGreaterThan(0);
  leadSets(hub);
  await answered();
  await hub.clock.advance(5_000);
  await answered();
  expect(hub.writes.slice(writes)).toEqual([]);
});
