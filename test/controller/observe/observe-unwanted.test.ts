import { expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { ObservedChange } from "../../../controller/observe/observation.ts";
import { apiError, observeScripted, ScriptedWatches } from "./scripted-watches.ts";

const resource = knownResource("v1", "ConfigMap");

function configMap(name: string, version: number): KubeObject {
  const managedFields = [
    { manager: "knfleet-hub", operation: "Apply", fieldsV1: { "f:data": {} } },
  ];
  const identity = { namespace: "eventing", name, uid: name, resourceVersion: String(version) };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { ...identity, managedFields } };
}

/** Watches that have listed one ConfigMap that nobody wants and one that is wanted, where all but `wanted` are not. */
async function begun() {
  const watches = new ScriptedWatches();
  const changes: ObservedChange[] = [];
  const observation = observeScripted(watches, (change) => changes.push(change), {
    isUnwanted: ({ name }) => name !== "wanted",
  });
  observation.watchKinds([resource]);
  watches.listed("ConfigMap", [configMap("listed", 90)]);
  await observation.waitForSync(AbortSignal.timeout(10_000));
  return { watches, changes, observation };
}

test("a new object with our fields is reported once, and only when it is a stray", async () => {
  const { watches, changes, observation } = await begun();
  await using _observation = observation;
  watches.send("ConfigMap", { type: "ADDED", object: configMap("wanted", 110) });
  watches.send("ConfigMap", { type: "ADDED", object: configMap("late", 111) });
  watches.send("ConfigMap", { type: "MODIFIED", object: configMap("late", 112) });
  watches.send("ConfigMap", { type: "DELETED", object: configMap("wanted", 113) });
  await watches.waitFor(() => expect(changes.length).toBeGreaterThan(1));
  expect(changes).toMatchObject([
    { kind: "object", key: { name: "late" } },
    { kind: "object", key: { name: "wanted" } },
  ]);
});

test("a stray that an older state of the cluster brings back is reported", async () => {
  const { watches, changes, observation } = await begun();
  await using _observation = observation;
  watches.send("ConfigMap", apiError(410, "too old resource version"));
  await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
  watches.listed("ConfigMap", [configMap("listed", 90), configMap("late", 50)], "60");
  await watches.waitFor(() => expect(changes).toHaveLength(1));
  expect(changes).toMatchObject([{ kind: "object", key: { name: "late" } }]);
});
