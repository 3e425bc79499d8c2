import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { ConnectionError } from "../../../access/api-error.ts";
import { knownResource, type ResourceType } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import { apiError, beginWith, type ScriptedWatches } from "./scripted-watches.ts";

const { signal } = new AbortController();
const configMaps = knownResource("v1", "ConfigMap");
const told: ObservedChange = { kind: "watch", resource: configMaps };
const forbidden = apiError(403, "configmaps is forbidden: User x cannot watch");

let watches: ScriptedWatches;
let changes: ObservedChange[];
let observation: Observation;

beforeEach(async () => {
  const scene = await beginWith(configMaps, []);
  ({ watches, changes, observation } = scene);
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

/** Ends the open watch of a kind with an error, so many times in a row. */
async function fails(times: number, error: Error, { kind }: ResourceType = configMaps) {
  for (let left = times; left > 0; left -= 1) {
    await vi.waitFor(() => expect(watches.isOpen(kind)).toBe(true), 60_000);
    watches.send(kind, error);
    await vi.waitFor(() => expect(watches.isOpen(kind)).toBe(false), 60_000);
  }
}

test("a watch that fails for a moment is not told of", async () => {
  await fails(2, new ConnectionError("refused", "https://spoke.example refused"));
  await vi.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(true), 60_000);
  observation.watch([configMaps]);
  watches.listed("ConfigMap", []);
  await observation.synced(signal);
  expect(changes).toEqual([]);
});

test("a watch that fails for some seconds is told of once, whatever the server answers", async () => {
  const kinds = ["Secret", "Service", "ServiceAccount"].map((kind) => knownResource("v1", kind));
  const [secrets, services, accounts] = kinds;
  observation.watch([configMaps, ...kinds]);
  for (const { kind } of kinds) watches.listed(kind, []);
  await observation.synced(signal);
  await Promise.all([
    fails(5, forbidden, secrets),
    fails(5, apiError(429, "too many requests"), services),
    fails(5, apiError(503, "service unavailable"), accounts),
  ]);
  const about = changes.flatMap((change) => (change.kind === "watch" ? [change.resource] : []));
  expect(about.map(({ kind }) => kind).toSorted()).toEqual(kinds.map(({ kind }) => kind));
});

test("a kind that may be watched again is told of, and what went meanwhile", async () => {
  await fails(4, forbidden);
  expect(changes).toEqual([told]);
  // Somebody looks, and finds that it is so.
  observation.watch([configMaps]);
  watches.send("ConfigMap", forbidden);
  await observation.synced(signal);
  expect(observation.refused().size).toBe(1);
  await fails(2, forbidden);
  expect(changes).toEqual([told]);
  await vi.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(true), 60_000);
  watches.listed("ConfigMap", []);
  await vi.waitFor(() => expect(changes).toEqual([told, told]), 60_000);
  expect(observation.refused().size).toBe(0);
});
