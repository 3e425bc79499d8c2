import { expect, test } from "vitest";

import { answered, leadSets, leadSetsOn } from "./lead-sets.ts";
import { apiError, SetHub } from "./set-hub.ts";

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
