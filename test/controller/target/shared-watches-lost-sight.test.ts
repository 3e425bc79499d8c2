import { afterEach, beforeEach, expect, test } from "vitest";

import { ConnectionError } from "../../../access/kube/api-error.ts";
import { kindId } from "../../../api/keys.ts";
import { knownResource, type ResourceType } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import type { SharedWatches } from "../../../controller/target/shared-watches.ts";
import {
  apiError,
  beginWith,
  observeScripted,
  type ScriptedWatches,
} from "../observe/scripted-watches.ts";

const { signal } = new AbortController();
const configMaps = knownResource("v1", "ConfigMap");
const told: ObservedChange = { kind: "watch", resource: configMaps };
const forbidden = apiError(403, "configmaps is forbidden: User x cannot watch");

let watches: ScriptedWatches;
let changes: ObservedChange[];
let observation: Observation;
let shared: SharedWatches;

beforeEach(async () => {
  ({ watches, shared, changes, observation } = await beginWith(configMaps, []));
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

/** Ends the open watch of a kind with an error, so many times in a row. */
async function fails(times: number, error: Error, { kind }: ResourceType = configMaps) {
  for (let left = times; left > 0; left -= 1) {
    await watches.waitFor(() => expect(watches.isOpen(kind)).toBe(true));
    watches.send(kind, error);
    await watches.waitFor(() => expect(watches.isOpen(kind)).toBe(false));
  }
}

test("a watch that fails for a moment is not told of", async () => {
  await fails(1, new ConnectionError("refused", "https://spoke.example refused"));
  await watches.opening("ConfigMap");
  observation.watchKinds([configMaps]);
  watches.listed("ConfigMap", []);
  await observation.waitForSync(signal);
  expect(changes).toEqual([]);
});

test("a watch that fails for some seconds is told of once, whatever the server answers", async () => {
  const kinds = ["Secret", "Service", "ServiceAccount"].map((kind) => knownResource("v1", kind));
  const [secrets, services, accounts] = kinds;
  observation.watchKinds([configMaps, ...kinds]);
  for (const { kind } of kinds) watches.listed(kind, []);
  await observation.waitForSync(signal);
  await fails(5, forbidden, secrets);
  await fails(5, apiError(429, "too many requests"), services);
  await fails(5, apiError(503, "service unavailable"), accounts);
  const about = changes.flatMap((change) => (change.kind === "watch" ? [change.resource] : []));
  expect(about.map(({ kind }) => kind).toSorted()).toEqual(kinds.map(({ kind }) => kind));
});

test("a kind that may be watched again is told of, and what went meanwhile", async () => {
  await fails(4, forbidden);
  expect(changes).toEqual([told]);
  // Somebody looks, and finds that it is so.
  observation.watchKinds([configMaps]);
  await watches.opening("ConfigMap");
  watches.send("ConfigMap", forbidden);
  await observation.waitForSync(signal);
  expect(observation.refused().size).toBe(1);
  await fails(2, forbidden);
  expect(changes).toEqual([told]);
  await watches.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(true));
  watches.listed("ConfigMap", []);
  await watches.waitFor(() => expect(changes).toEqual([told, told]));
  expect(observation.refused().size).toBe(0);
});

test("a watch that ended early is out of date after some seconds, until the next list is there", async () => {
  watches.send("ConfigMap", "end");
  await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
  expect([observation.behind().size, observation.live().length]).toEqual([0, 0]);
  await watches.waitFor(() => expect(changes).toEqual([told]));
  expect([...observation.behind()]).toEqual([kindId(configMaps)]);
  watches.listed("ConfigMap", []);
  await watches.waitFor(() => expect(changes).toEqual([told, told]));
  expect([observation.behind().size, observation.live().length]).toEqual([0, 1]);
});

test("whoever looks after a watch ended early waits for the next list", async () => {
  watches.send("ConfigMap", "end");
  await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
  observation.watchKinds([configMaps]);
  let isSynced = false;
  const synced = observation.waitForSync(signal).then(() => (isSynced = true));
  await watches.clock.advance(1_000);
  expect(isSynced).toBe(false);
  watches.listed("ConfigMap", []);
  await synced;
});

test("whoever looks asks no server before the time that it asked for", async () => {
  watches.send("ConfigMap", apiError(429, "too many requests", 60_000));
  await watches.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(false));
  const joining = observeScripted(watches, () => undefined, { watches: shared });
  try {
    for (const one of [observation, joining]) one.watchKinds([configMaps]);
    await watches.clock.advance(59_000);
    expect(watches.opened("ConfigMap")).toHaveLength(1);
  } finally {
    await joining[Symbol.asyncDispose]();
  }
});
