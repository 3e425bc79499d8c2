import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import { observedObject } from "../../../installation/observed-object.ts";
import { readinessOf } from "../../../installation/readiness.ts";
import { apiError, beginWith, type ScriptedWatches } from "./scripted-watches.ts";

const deployments = knownResource("apps/v1", "Deployment");

interface Look {
  readonly version: number;
  readonly generation?: number;
  /** Generation that the status is of. */
  readonly observed?: number;
  readonly replicas?: number;
  readonly uid?: string;
}

/** A Deployment that is available. */
function deployment({ version, generation = 1, observed, replicas = 1, uid = "u" }: Look) {
  const fieldsV1 = { "f:spec": {} };
  const managedFields = [{ manager: "knfleet-hub", operation: "Apply", fieldsV1 }];
  const conditions = [{ type: "Available", status: "True" }];
  const counts = { replicas, updatedReplicas: replicas, availableReplicas: replicas };
  const place = { namespace: "eventing", name: "controller", uid };
  const object: KubeObject = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...place, resourceVersion: String(version), generation, managedFields },
    spec: { replicas },
    status: { observedGeneration: observed ?? generation, ...counts, conditions },
  };
  return object;
}

const key = keyOf(deployment({ version: 1 }));
const change: ObservedChange = { kind: "workload", key };
let watches: ScriptedWatches;
let changes: ObservedChange[];
let observation: Observation;

beforeEach(async () => {
  const scene = await beginWith(deployments, [deployment({ version: 90 })]);
  ({ watches, changes, observation } = scene);
  changes.length = 0;
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

function isAvailable(): boolean {
  return readinessOf([key], observation.workloads()).available;
}

/** The caller says that this is the answer to a write of its own. */
function note(object: KubeObject): void {
  observation.note([observedObject(object, "knfleet-hub")]);
}

/** The server says something on the watch. */
function sends(type: "ADDED" | "MODIFIED" | "DELETED", object: KubeObject): void {
  watches.send("Deployment", { type, object });
}

async function reported(): Promise<void> {
  await watches.waitFor(() => expect(changes).toContainEqual(change));
}

describe("a workload that we have changed", () => {
  test("is waited for until it is seen, also when its rollout is over by then", async () => {
    expect(isAvailable()).toBe(true);
    note(deployment({ version: 105, generation: 2, observed: 1 }));
    expect(isAvailable()).toBe(false);
    sends("MODIFIED", deployment({ version: 110, generation: 2 }));
    await reported();
    expect(isAvailable()).toBe(true);
  });

  test("is waited for also after an event of before", async () => {
    note(deployment({ version: 105, generation: 2, observed: 1 }));
    sends("MODIFIED", deployment({ version: 101, replicas: 5 }));
    await watches.waitFor(() => {
      const seen = observation.workloads().get(objectId(key));
      expect(seen).toMatchObject({ spec: { replicas: 5 } });
    });
    expect(isAvailable()).toBe(false);
  });

  test("is not waited for when nothing but its metadata changed", () => {
    note(deployment({ version: 105 }));
    expect(isAvailable()).toBe(true);
  });

  test("is waited for when it was made anew", async () => {
    const made = deployment({ version: 105, uid: "another" });
    note(made);
    expect(isAvailable()).toBe(false);
    sends("DELETED", deployment({ version: 104 }));
    sends("ADDED", made);
    await reported();
    expect(isAvailable()).toBe(true);
  });

  test("is as it is seen when an older state of the cluster came back", async () => {
    note(deployment({ version: 105, generation: 2, observed: 1 }));
    watches.send("Deployment", apiError(410, "too old resource version"));
    await watches.waitFor(() => expect(watches.opened("Deployment")).toHaveLength(2));
    watches.listed("Deployment", [deployment({ version: 50 })], "60");
    await reported();
    expect(isAvailable()).toBe(true);
  });
});

describe("a workload that is gone is forgotten", () => {
  const gone: ObservedChange = { kind: "object", key };

  test("when it went before our eyes", async () => {
    sends("DELETED", deployment({ version: 101 }));
    await watches.waitFor(() => expect(changes).toContainEqual(gone));
    expect(observation.workloads().size).toBe(0);
  });

  test("when a later list lacks it, which we had written meanwhile", async () => {
    note(deployment({ version: 105 }));
    watches.send("Deployment", "end");
    await watches.opening("Deployment");
    watches.listed("Deployment", [], "200");
    await watches.waitFor(() => expect(changes).toContainEqual(gone));
    expect(observation.workloads().size).toBe(0);
  });

  test("not when a list of another kind lacks it", async () => {
    observation.watchKinds([deployments, knownResource("v1", "ConfigMap")]);
    watches.listed("ConfigMap", []);
    await observation.waitForSync(AbortSignal.timeout(10_000));
    expect(observation.objects().size).toBe(1);
    expect(isAvailable()).toBe(true);
  });
});
