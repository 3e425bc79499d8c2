import { expect, test } from "vitest";

import { answered, leadSets } from "./lead-sets.ts";
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
