import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import { SharedWatches } from "../../../controller/target/shared-watches.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import { observedObject } from "../../../installation/observed-object.ts";
import { apiError, observeScripted, ScriptedWatches } from "../observe/scripted-watches.ts";

const { signal } = new AbortController();
const configMaps = knownResource("v1", "ConfigMap");
const definitions = knownResource("apiextensions.k8s.io/v1", "CustomResourceDefinition");

interface Seen {
  readonly observation: Observation;
  readonly changes: ObservedChange[];
}

let watches: ScriptedWatches;
let shared: SharedWatches;
let ada: Seen;
let bob: Seen;

beforeEach(() => {
  watches = new ScriptedWatches();
  shared = new SharedWatches(watches.clock, watches, "knfleet-hub");
  ada = seenBy("ada");
  bob = seenBy("bob");
});

afterEach(async () => {
  await ada.observation[Symbol.asyncDispose]();
  await bob.observation[Symbol.asyncDispose]();
});

function seenBy(componentUid: string): Seen {
  const changes: ObservedChange[] = [];
  const tell = (change: ObservedChange): unknown => changes.push(change);
  return {
    observation: observeScripted(watches, tell, { componentUid, watches: shared }),
    changes,
  };
}

function objectOf(owner: string, name: string, version: number): KubeObject {
  const fieldsV1 = { "f:data": {} };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: "ns",
      name,
      uid: `uid-${name}`,
      resourceVersion: String(version),
      labels: { [componentUidLabel]: owner },
      managedFields: [{ manager: "knfleet-hub", operation: "Apply", fieldsV1 }],
    },
  };
}

function keyNamed(name: string): unknown {
  return expect.objectContaining({ name });
}

function namesIn({ observation }: Seen): readonly string[] {
  return [...observation.objects().values()].map(({ key }) => key.name).toSorted();
}

/** Both watch ConfigMaps, of which the server has these. */
async function bothWatch(objects: readonly KubeObject[]): Promise<void> {
  ada.observation.watchKinds([configMaps]);
  bob.observation.watchKinds([configMaps]);
  await opened(2);
  watches.listed("ConfigMap", objects);
  await bob.observation.waitForSync(signal);
}

/** So many watches were opened, and the last one is open. */
async function opened(count: number, kind = "ConfigMap"): Promise<void> {
  await watches.waitFor(() => expect(watches.opened(kind)).toHaveLength(count));
  await watches.waitFor(() => expect(watches.isOpen(kind)).toBe(true));
}

describe("two components on one cluster", () => {
  test("share one watch a kind, and each sees what is its own", async () => {
    await bothWatch([objectOf("ada", "a", 5), objectOf("bob", "b", 6)]);
    const selectors = watches.opened("ConfigMap").map(({ ref }) => ref.labelSelector);
    expect(selectors).toEqual([
      "knfleet.dev/component-uid=ada",
      "knfleet.dev/component-uid in (ada,bob)",
    ]);
    expect(watches.openCount()).toBe(1);
    expect([namesIn(ada), namesIn(bob)]).toEqual([["a"], ["b"]]);
    watches.send("ConfigMap", { type: "DELETED", object: objectOf("bob", "b", 7) });
    await watches.waitFor(() => expect(bob.changes).toMatchObject([{ key: { name: "b" } }]));
    expect(ada.changes).toEqual([]);
  });

  test("each get all objects, also the one that subscribes later", async () => {
    ada.observation.watchKinds([configMaps]);
    watches.listed("ConfigMap", [objectOf("ada", "a", 5)]);
    await ada.observation.waitForSync(signal);
    bob.observation.watchKinds([configMaps]);
    await opened(2);
    expect(namesIn(ada)).toEqual(["a"]);
    expect(ada.observation.live()).toEqual([configMaps]);
    expect(bob.observation.pending()).toEqual([configMaps]);
    watches.listed("ConfigMap", [objectOf("ada", "a", 5), objectOf("bob", "b", 6)], "101");
    await bob.observation.waitForSync(signal);
    expect([namesIn(ada), namesIn(bob)]).toEqual([["a"], ["b"]]);
    expect([ada.changes, bob.changes]).toEqual([[], []]);
  });

  test("lose nothing of what was written while the list was read that the other one's coming asked for", async () => {
    ada.observation.watchKinds([configMaps]);
    watches.listed("ConfigMap", [objectOf("ada", "old", 5)]);
    await ada.observation.waitForSync(signal);
    bob.observation.watchKinds([configMaps]);
    await opened(2);
    ada.observation.note([observedObject(objectOf("ada", "new", 120), "knfleet-hub")]);
    watches.listed("ConfigMap", [], "110");
    await bob.observation.waitForSync(signal);
    expect(namesIn(ada)).toEqual(["new"]);
    expect(ada.changes).toMatchObject([{ kind: "object", key: { name: "old" } }]);
  });

  test("see an object go that gets the other one's label, and come", async () => {
    await bothWatch([objectOf("ada", "a", 5)]);
    watches.send("ConfigMap", { type: "MODIFIED", object: objectOf("bob", "a", 101) });
    await watches.waitFor(() => expect(namesIn(bob)).toEqual(["a"]));
    expect(namesIn(ada)).toEqual([]);
    expect(ada.changes).toMatchObject([{ kind: "object", key: { name: "a" } }]);
  });

  test("both see CRDs, which belong to none", async () => {
    ada.observation.watchKinds([definitions]);
    bob.observation.watchKinds([definitions]);
    await opened(2, "CustomResourceDefinition");
    const { apiVersion, kind } = definitions;
    const { namespace: _, labels: __, ...metadata } = objectOf("", "crd", 5).metadata;
    watches.listed("CustomResourceDefinition", [{ apiVersion, kind, metadata }]);
    await bob.observation.waitForSync(signal);
    expect([namesIn(ada), namesIn(bob)]).toEqual([["crd"], ["crd"]]);
  });

  test("both hear that they may not watch, and that they may again", async () => {
    await bothWatch([]);
    watches.send("ConfigMap", apiError(403, "configmaps is forbidden: User x cannot list"));
    await watches.waitFor(() => expect(bob.observation.refused().size).toBe(1));
    expect(ada.observation.refused().size).toBe(1);
    ada.observation.watchKinds([configMaps]);
    await opened(3);
    watches.listed("ConfigMap", [objectOf("bob", "b", 6)], "130");
    await ada.observation.waitForSync(signal);
    expect([ada.observation.refused().size, bob.observation.refused().size]).toEqual([0, 0]);
    expect([namesIn(ada), namesIn(bob)]).toEqual([[], ["b"]]);
  });

  test("both lose what there was of a kind that is not served any more, and have it back with the kind", async () => {
    await bothWatch([objectOf("ada", "a", 5), objectOf("bob", "b", 6)]);
    watches.unserved.add("ConfigMap");
    watches.send("ConfigMap", apiError(404, "404 page not found"));
    await watches.waitFor(() => expect([namesIn(ada), namesIn(bob)]).toEqual([[], []]));
    watches.unserved.clear();
    ada.observation.watchKinds([configMaps]);
    await watches.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(true));
    watches.listed("ConfigMap", [objectOf("ada", "a", 200), objectOf("bob", "b", 201)], "202");
    await watches.waitFor(() => expect([namesIn(ada), namesIn(bob)]).toEqual([["a"], ["b"]]));
  });
});

describe("a component that leaves", () => {
  test("leaves the other one its watch, which ends with the last of them", async () => {
    await bothWatch([objectOf("ada", "a", 5), objectOf("bob", "b", 6)]);
    await ada.observation[Symbol.asyncDispose]();
    expect(watches.isOpen("ConfigMap")).toBe(true);
    watches.send("ConfigMap", { type: "DELETED", object: objectOf("ada", "a", 107) });
    watches.send("ConfigMap", { type: "DELETED", object: objectOf("bob", "b", 108) });
    await watches.waitFor(() => expect(bob.changes).toMatchObject([{ key: { name: "b" } }]));
    expect(ada.changes).toEqual([]);
    await bob.observation[Symbol.asyncDispose]();
    await watches.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(false));
  });

  test("may come back, and is told what changed meanwhile", async () => {
    await bothWatch([objectOf("ada", "a", 5)]);
    ada.observation.watchKinds([]);
    expect(namesIn(ada)).toEqual([]);
    watches.send("ConfigMap", { type: "MODIFIED", object: objectOf("ada", "a", 107) });
    ada.observation.watchKinds([configMaps]);
    await opened(3);
    watches.listed("ConfigMap", [objectOf("ada", "a", 107), objectOf("ada", "c", 108)], "108");
    await ada.observation.waitForSync(signal);
    expect(namesIn(ada)).toEqual(["a", "c"]);
    expect(watches.openCount()).toBe(1);
  });
});

test("an older state that was restored is reported also when the kind is listed again after a failure", async () => {
  ada.observation.watchKinds([configMaps]);
  watches.listed("ConfigMap", [objectOf("ada", "a", 5)], "100");
  watches.send("ConfigMap", { type: "ADDED", object: objectOf("ada", "b", 190) });
  await watches.waitFor(() => expect(namesIn(ada)).toEqual(["a", "b"]));
  watches.send("ConfigMap", apiError(503, "the server is starting"));
  await watches.waitFor(() => expect(ada.observation.live()).toEqual([]));
  ada.observation.watchKinds([configMaps]);
  await opened(2);
  watches.listed("ConfigMap", [objectOf("ada", "a", 5)], "150");
  await watches.waitFor(() => expect(namesIn(ada)).toEqual(["a"]));
  expect(ada.changes).toContainEqual(expect.objectContaining({ key: keyNamed("b") }));
});

test("a component without a proper uid disturbs no other one", async () => {
  ada.observation.watchKinds([configMaps]);
  const nobody = seenBy("no uid");
  expect(() => nobody.observation.watchKinds([configMaps])).toThrow("selects nothing");
  bob.observation.watchKinds([configMaps]);
  await opened(2);
  watches.listed("ConfigMap", [objectOf("bob", "b", 6)]);
  await bob.observation.waitForSync(signal);
  expect(namesIn(bob)).toEqual(["b"]);
});
