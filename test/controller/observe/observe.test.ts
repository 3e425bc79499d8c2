import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import { observedObject } from "../../../installation/observed-object.ts";
import { apiError, observeScripted, ScriptedWatches } from "./scripted-watches.ts";

const { signal } = new AbortController();
const configMaps = knownResource("v1", "ConfigMap");
const deployments = knownResource("apps/v1", "Deployment");
let watches: ScriptedWatches;
let changes: ObservedChange[];
let observation: Observation;

beforeEach(() => {
  watches = new ScriptedWatches();
  changes = [];
  observation = observeScripted(watches, (change) => changes.push(change));
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

interface Look {
  readonly uid?: string;
  readonly version: number;
  readonly owns?: readonly string[];
  readonly deleting?: boolean;
}

function configMap(name: string, { uid = name, version, owns = ["f:a"], deleting }: Look) {
  const fieldsV1 = { "f:data": Object.fromEntries(owns.map((field) => [field, {}])) };
  const object: KubeObject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: "eventing",
      name,
      uid,
      resourceVersion: String(version),
      managedFields:
        owns.length === 0 ? [] : [{ manager: "knfleet-hub", operation: "Apply", fieldsV1 }],
      ...(deleting === true ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
  };
  return object;
}

function deployment(version: number, available: "True" | "False", replicas = 1): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      namespace: "eventing",
      name: "controller",
      uid: "controller",
      resourceVersion: String(version),
      generation: 1,
      managedFields: [
        { manager: "knfleet-hub", operation: "Apply", fieldsV1: { "f:spec": {} } },
        { manager: "kcm", operation: "Update", subresource: "status", fieldsV1: {} },
      ],
    },
    spec: { replicas },
    status: {
      observedGeneration: 1,
      replicas,
      updatedReplicas: replicas,
      ...(available === "True" ? { availableReplicas: replicas } : {}),
      conditions: [{ type: "Available", status: available }],
    },
  };
}

test("a kind that turns out to be served under another plural is watched there", () => {
  observation.watchKinds([{ ...configMaps, plural: "configmapes" }]);
  observation.watchKinds([configMaps]);
  observation.watchKinds([configMaps]);
  const plurals = watches.opened("ConfigMap").map(({ ref }) => ref.resource.plural);
  expect(plurals).toEqual(["configmapes", "configmaps"]);
});

async function listed(objects: readonly KubeObject[]): Promise<void> {
  observation.watchKinds([configMaps]);
  watches.listed("ConfigMap", objects);
  await observation.waitForSync(signal);
}

/** The server says something on the watch of the object's kind. */
function sends(type: "ADDED" | "MODIFIED" | "DELETED", object: KubeObject): void {
  watches.send(object.kind, { type, object });
}

/** The caller says that this is the answer to a write of its own. */
function note(object: KubeObject): void {
  observation.note([observedObject(object, "knfleet-hub")]);
}

/** The changes so far, once there are so many. */
async function reported(count: number): Promise<readonly ObservedChange[]> {
  await watches.waitFor(() => expect(changes.length).toBeGreaterThanOrEqual(count));
  return changes;
}

const aKey = keyOf(configMap("a", { version: 1 }));
const aChanged: ObservedChange = { kind: "object", key: aKey };

describe("what is asked of the server", () => {
  test("is one watch a kind by the component's label, metadata only but for workloads", () => {
    observation.watchKinds([configMaps, deployments]);
    const labelSelector = "knfleet.dev/component-uid=uid-of-component";
    expect(watches.opened("ConfigMap")).toMatchObject([
      { ref: { resource: configMaps, labelSelector }, options: { metadataOnly: true } },
    ]);
    expect(watches.opened("Deployment")).toMatchObject([
      { ref: { resource: deployments, labelSelector }, options: { metadataOnly: false } },
    ]);
  });

  test("is nothing new when the same kinds are watched again", async () => {
    await listed([]);
    observation.watchKinds([configMaps]);
    await observation.waitForSync(signal);
    expect(watches.opened("ConfigMap")).toHaveLength(1);
  });

  test("ends for kinds that are not wanted any more, and their records go silently", async () => {
    await listed([configMap("a", { version: 1 })]);
    observation.watchKinds([deployments]);
    await watches.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(false));
    expect(observation.objects().size).toBe(0);
    expect(changes).toEqual([]);
  });

  test("ends with the observation", async () => {
    observation.watchKinds([configMaps, deployments]);
    await observation[Symbol.asyncDispose]();
    await watches.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(false));
    expect(watches.isOpen("Deployment")).toBe(false);
  });
});

describe("records", () => {
  test("are compact and by identity", async () => {
    await listed([configMap("a", { version: 7 })]);
    expect([...observation.objects()]).toEqual([
      [
        objectId(aKey),
        {
          key: aKey,
          uid: "a",
          resourceVersion: "7",
          fingerprint: expect.any(String),
          deleting: false,
        },
      ],
    ]);
  });

  test("of workloads come with the object, without its managed fields", async () => {
    observation.watchKinds([deployments]);
    watches.listed("Deployment", [deployment(1, "True", 3)]);
    await observation.waitForSync(signal);
    const id = objectId(keyOf(deployment(1, "True")));
    expect(observation.workloads().get(id)).toMatchObject({ spec: { replicas: 3 } });
    expect(observation.workloads().get(id)?.metadata.managedFields).toBeUndefined();
    expect(observation.objects().get(id)?.fingerprint).toEqual(expect.any(String));
  });
});

describe("reported is", () => {
  beforeEach(() => listed([configMap("a", { version: 1 })]));

  test("nothing of the first list", () => {
    expect(changes).toEqual([]);
  });

  test("a field of ours that somebody took, but no status noise before it", async () => {
    sends("MODIFIED", configMap("a", { version: 101 }));
    sends("MODIFIED", configMap("a", { version: 102, owns: ["f:b"] }));
    expect(await reported(1)).toEqual([aChanged]);
    expect(observation.objects().get(objectId(aKey))?.resourceVersion).toBe("102");
  });

  test("an object that is gone", async () => {
    sends("DELETED", configMap("a", { version: 101 }));
    expect(await reported(1)).toEqual([aChanged]);
    expect(observation.objects().size).toBe(0);
  });

  test("an object whose deletion waits for a finalizer, once when it begins and once when it ends", async () => {
    sends("MODIFIED", configMap("a", { version: 101, deleting: true }));
    sends("MODIFIED", configMap("a", { version: 102, deleting: true }));
    sends("DELETED", configMap("a", { version: 103, deleting: true }));
    expect(await reported(2)).toEqual([aChanged, aChanged]);
  });

  test("an object that appears, only when nothing on it is ours", async () => {
    sends("ADDED", configMap("b", { version: 101 }));
    sends("ADDED", configMap("c", { version: 102, owns: [] }));
    expect(await reported(1)).toEqual([{ kind: "object", key: { ...aKey, name: "c" } }]);
  });

  test("an object that went while nobody was watching", async () => {
    watches.send("ConfigMap", apiError(410, "too old resource version"));
    await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
    watches.listed("ConfigMap", [], "200");
    expect(await reported(1)).toEqual([aChanged]);
  });

  test("an object that an older state of the cluster brought back, though its version is a smaller one", async () => {
    sends("MODIFIED", configMap("a", { version: 150 }));
    await watches.waitFor(() => {
      expect(observation.objects().get(objectId(aKey))?.resourceVersion).toBe("150");
    });
    watches.send("ConfigMap", apiError(410, "too old resource version"));
    await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
    watches.listed("ConfigMap", [configMap("a", { version: 50, owns: ["f:b"] })], "60");
    expect(await reported(1)).toEqual([aChanged]);
    expect(observation.objects().get(objectId(aKey))?.resourceVersion).toBe("50");
  });

  test("an object of an older state, which was restored, also when the cluster has come further since", async () => {
    sends("MODIFIED", configMap("a", { version: 150 }));
    await watches.waitFor(() => {
      expect(observation.objects().get(objectId(aKey))?.resourceVersion).toBe("150");
    });
    watches.send("ConfigMap", "end");
    await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
    watches.listed("ConfigMap", [configMap("a", { version: 50, owns: ["f:b"] })], "200");
    expect(await reported(1)).toEqual([aChanged]);
    expect(observation.objects().get(objectId(aKey))?.resourceVersion).toBe("50");
  });

  test("no object that was written while the list was read, which shows it as it was before", async () => {
    watches.send("ConfigMap", "end");
    await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
    observation.note([
      observedObject(configMap("a", { version: 250, owns: ["f:b"] }), "knfleet-hub"),
    ]);
    watches.listed("ConfigMap", [configMap("a", { version: 50 })], "200");
    await observation.waitForSync(signal);
    expect(observation.objects().get(objectId(aKey))?.resourceVersion).toBe("250");
    expect(changes).toEqual([]);
  });

  test("an object that was replaced while nobody was watching", async () => {
    watches.send("ConfigMap", apiError(410, "too old resource version"));
    await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
    watches.listed("ConfigMap", [configMap("a", { uid: "new", version: 150, owns: [] })], "200");
    await watches.waitFor(() => expect(changes).toContainEqual(aChanged));
    expect(observation.objects().get(objectId(aKey))).toMatchObject({ uid: "new" });
  });

  test("everything of a kind that is not served any more, and its return is seen", async () => {
    watches.unserved.add("ConfigMap");
    watches.send("ConfigMap", apiError(404, "404 page not found"));
    expect(await reported(1)).toEqual([aChanged]);
    expect(observation.objects().size).toBe(0);
    watches.unserved.clear();
    observation.watchKinds([configMaps]);
    await watches.opening("ConfigMap");
    watches.listed("ConfigMap", [configMap("a", { version: 300 })], "300");
    await observation.waitForSync(signal);
    expect(observation.objects().size).toBe(1);
  });
});

describe("of a workload is reported", () => {
  const key = keyOf(deployment(1, "True"));

  test("the first sight and each turn of its availability", async () => {
    observation.watchKinds([deployments]);
    watches.listed("Deployment", [deployment(1, "False")]);
    await observation.waitForSync(signal);
    expect(changes).toEqual([{ kind: "workload", key }]);
    sends("MODIFIED", deployment(101, "False", 2));
    sends("MODIFIED", deployment(102, "True", 2));
    sends("MODIFIED", deployment(103, "True", 3));
    sends("MODIFIED", deployment(104, "False", 3));
    const change: ObservedChange = { kind: "workload", key };
    expect(await reported(3)).toEqual([change, change, change]);
  });
});

describe("our own writes, once noted,", () => {
  beforeEach(() => listed([configMap("a", { version: 1 })]));

  const last = configMap("z", { version: 500, owns: [] });
  const lastChanged: ObservedChange = { kind: "object", key: keyOf(last) };

  test("are known at once and their events are no change", async () => {
    const written = configMap("a", { version: 105, owns: ["f:a", "f:b"] });
    note(written);
    expect(observation.objects().get(objectId(aKey))?.resourceVersion).toBe("105");
    sends("MODIFIED", written);
    sends("ADDED", last);
    expect(await reported(1)).toEqual([lastChanged]);
  });

  test("are not undone by an older event that comes late", async () => {
    note(configMap("a", { version: 105 }));
    const old = configMap("a", { version: 103, owns: [] });
    sends("MODIFIED", old);
    sends("ADDED", last);
    expect(await reported(1)).toEqual([lastChanged]);
    expect(observation.objects().get(objectId(aKey))?.resourceVersion).toBe("105");
  });

  test("survive the late news that the object before was deleted", async () => {
    note(configMap("a", { uid: "again", version: 105 }));
    sends("DELETED", configMap("a", { version: 104 }));
    sends("ADDED", configMap("a", { uid: "again", version: 105 }));
    sends("ADDED", last);
    expect(await reported(1)).toEqual([lastChanged]);
    expect(observation.objects().get(objectId(aKey))?.uid).toBe("again");
  });

  test("are drift when somebody else writes later", async () => {
    note(configMap("a", { version: 105 }));
    const object = configMap("a", { version: 106, owns: [] });
    sends("MODIFIED", object);
    expect(await reported(1)).toEqual([aChanged]);
  });

  test("are forgotten when a complete list does not have them", async () => {
    note(configMap("b", { version: 105 }));
    watches.send("ConfigMap", apiError(410, "too old resource version"));
    await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
    watches.listed("ConfigMap", [configMap("a", { version: 1 })], "200");
    expect(await reported(1)).toEqual([{ kind: "object", key: { ...aKey, name: "b" } }]);
  });

  test("are left out for kinds that are not watched", () => {
    note(deployment(105, "True"));
    expect(observation.objects().size).toBe(1);
  });
});
