import { expect, test } from "vitest";

import { answered, leadSets } from "./lead-sets.ts";
import { apiError, rollout, SetHub, whenUnselected } from "./set-hub.ts";

const minute = 60_000;

/** A led hub with the clusters a and b, whose set has looked at both. */
async function led(forbidden: readonly string[]) {
  const hub = new SetHub();
  for (const name of ["a", "b"]) hub.putProfile(name);
  for (const name of forbidden) {
    hub.faults.push({ verb: "apply", name, error: apiError(403, "Forbidden", "denied") });
  }
  const key = hub.putSet({ rollout, whenUnselected });
  const sets = leadSets(hub);
  const pass = async (ms: number): Promise<void> => {
    await answered();
    await hub.clock.advance(ms);
    await answered();
  };
  await pass(2_000);
  return { hub, key, sets, pass };
}

test("a component that the hub refused is sent again after five minutes, though nothing has changed", async () => {
  const { hub, key, pass } = await led(["prod-a"]);
  expect(hub.names()).toEqual(["prod-b"]);
  expect(hub.set(key).status?.clusters?.["blocked"]).toBe(1);
  hub.faults.length = 0;
  await pass(5 * minute - 10_000);
  expect(hub.names()).toEqual(["prod-b"]);
  await pass(20_000);
  expect(hub.names()).toEqual(["prod-a", "prod-b"]);
});

test("a component that somebody deleted is made again, and a ClusterProfile that went is told", async () => {
  const { hub, key, pass } = await led([]);
  expect(hub.names()).toEqual(["prod-a", "prod-b"]);
  hub.drop("KnativeServing", "prod-a");
  await pass(3_000);
  expect(hub.names()).toEqual(["prod-a", "prod-b"]);
  hub.drop("ClusterProfile", "a");
  await pass(3_000);
  expect(hub.set(key).status?.clusters?.["selected"]).toBe(1);
});

test("a revision that somebody deleted is made again", async () => {
  const { hub, pass } = await led([]);
  const [revision] = hub.revisions();
  hub.drop("ControllerRevision", revision?.metadata.name ?? "");
  await pass(3_000);
  expect(hub.revisions().map(({ metadata }) => metadata.name)).toEqual([revision?.metadata.name]);
});

test("what components may use is looked at again when that has changed", async () => {
  const { sets, pass } = await led([]);
  const before = sets.looks;
  sets.sets.referencesChanged();
  await pass(3_000);
  expect(sets.looks).toBeGreaterThan(before);
});
