import { expect, test } from "vitest";

import { answered, leadSets } from "./lead-sets.ts";
import { SetHub } from "./set-hub.ts";

const deletionTimestamp = "2026-11-25T12:00:00Z";

test("a set that is being deleted keeps the policy that it was deleted with, whatever is stored afterwards", async () => {
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
  await hub.clock.advance(2_000);
  await answered();
  expect(hub.names()).toEqual(["prod-eu"]);
  expect(hub.components()[0]?.metadata.labels).toEqual({});
  expect(hub.set(key)).toMatchObject({
    metadata: { finalizers: [] },
    spec: { deletionPolicy: "Delete" },
  });
});
