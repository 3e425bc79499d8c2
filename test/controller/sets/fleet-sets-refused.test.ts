import { expect, test } from "vitest";

import { apiError } from "../../support/api-error.ts";
import { silentLog } from "../../support/silent-log.ts";
import { answered, leadSets } from "./lead-sets.ts";
import { rollout, SetHub, whenUnselected } from "./set-hub.ts";

const minute = 60_000;

/** A led hub with the clusters a and b, whose set has looked at both. */
async function led(forbidden: readonly string[], log = silentLog) {
  const hub = new SetHub();
  for (const name of ["a", "b"]) hub.putProfile(name);
  for (const name of forbidden) {
    hub.faults.push({ verb: "apply", name, error: apiError(403, "Forbidden", "denied") });
  }
  const key = hub.putSet({ rollout, whenUnselected });
  const sets = leadSets(hub, { log });
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

test("a refused component is sent again, too, while another one has a longer time to get ready", async () => {
  const { hub, pass } = await led(["prod-a"]);
  await pass(2 * minute);
  const status = { observedGeneration: 1, conditions: [{ type: "Ready", status: "False" }] };
  const component = hub.components().find(({ metadata }) => metadata.name === "prod-b");
  if (component !== undefined) hub.put({ ...component, status });
  hub.faults.length = 0;
  await pass(3 * minute + 10_000);
  expect(hub.names()).toEqual(["prod-a", "prod-b"]);
});

test("a component that never gets ready has failed when its time is over, though nothing has changed", async () => {
  const { hub, key, pass } = await led([]);
  const ready = { type: "Ready", status: "True" };
  for (const [index, component] of hub.components().entries()) {
    const conditions = [{ ...ready, status: index === 0 ? "False" : "True" }];
    hub.put({ ...component, status: { observedGeneration: 1, conditions, version: "1.22.0" } });
  }
  await pass(14 * minute);
  expect(hub.set(key).status?.clusters).toMatchObject({ failed: 0, updating: 1 });
  await pass(2 * minute);
  expect(hub.set(key).status?.clusters).toMatchObject({ failed: 1, updating: 0 });
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

test("a component whose change the hub refused comes back at once when somebody deletes it", async () => {
  const { hub, key, pass } = await led([]);
  hub.faults.push({ verb: "apply", name: "prod-a", error: apiError(403, "Forbidden", "denied") });
  hub.edit(key, { template: { spec: { version: "1.23.0" } } });
  await pass(3_000);
  expect(hub.set(key).status?.clusters?.["blocked"]).toBe(1);
  hub.faults.length = 0;
  hub.drop("KnativeServing", "prod-a");
  await pass(3_000);
  expect(hub.names()).toEqual(["prod-a", "prod-b"]);
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

test("a bug of this program is logged as one, and not as a failure of the hub", async () => {
  const lines: unknown[] = [];
  const log = {
    ...silentLog,
    warn: (_fields: object, text: string) => void lines.push(text),
    error: ({ err }: { readonly err?: unknown }, text: string) => void lines.push([text, err]),
  };
  const { hub, key, pass } = await led([], log);
  expect(lines).toEqual([]);
  const bug = new TypeError("bug");
  hub.faults.push({ verb: "replace", name: "prod", error: bug });
  hub.drop("ClusterProfile", "a");
  await pass(3_000);
  expect(lines).toContainEqual(["A look at a set failed", bug]);
  expect(lines).not.toContain("The hub could not be written for a set");
  hub.faults.length = 0;
  await pass(minute);
  expect(hub.set(key).status?.clusters?.["selected"]).toBe(1);
});
