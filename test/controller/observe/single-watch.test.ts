import { afterEach, beforeEach, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import { observe } from "../../../controller/observe/observe.ts";
import { SharedWatches } from "../../../controller/target/shared-watches.ts";
import { silentLog } from "../../support/silent-log.ts";
import { apiError, ScriptedWatches } from "./scripted-watches.ts";

const anchor = { resource: knownResource("v1", "ConfigMap"), namespace: "ns", name: "anchor" };
const namespace = { resource: knownResource("v1", "Namespace"), name: "ns" };
const namespaceKey = { apiVersion: "v1", kind: "Namespace", name: "ns" };
let watches: ScriptedWatches;
let changes: ObservedChange[];
let observation: Observation;

beforeEach(() => {
  watches = new ScriptedWatches();
  changes = [];
  observation = observe({
    clock: watches.clock,
    client: watches,
    componentUid: "uid",
    watches: new SharedWatches(watches.clock, watches, "knfleet-hub"),
    onChange: (change) => changes.push(change),
    log: silentLog,
  });
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

function anchorAs(
  version: number,
  annotations: Readonly<Record<string, string>> = {},
  uid = "anchor",
): KubeObject {
  const metadata = {
    namespace: "ns",
    name: "anchor",
    uid,
    resourceVersion: `${version}`,
    annotations,
  };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

function namespaceAs(version: number, labels: Readonly<Record<string, string>> = {}): KubeObject {
  const metadata = { name: "ns", uid: "ns", resourceVersion: `${version}`, labels };
  return { apiVersion: "v1", kind: "Namespace", metadata };
}

/** Lets the watches say so much more, which is seen after all that was sent before. */
async function seen(count: number): Promise<void> {
  await watches.waitFor(() => expect(changes.length).toBeGreaterThanOrEqual(count));
}

test("what carries no label is watched by its name, and CRDs by a label of no component", () => {
  const definitions = knownResource("apiextensions.k8s.io/v1", "CustomResourceDefinition");
  observation.watchKinds([definitions]);
  observation.watchSingles([anchor, namespace]);
  observation.watchSingles([anchor, namespace]);
  const opened = ["ConfigMap", "Namespace", "CustomResourceDefinition"].flatMap((kind) =>
    watches.opened(kind),
  );
  expect(opened).toMatchObject([
    {
      ref: { namespace: "ns", fieldSelector: "metadata.name=anchor" },
      options: { metadataOnly: true },
    },
    { ref: { fieldSelector: "metadata.name=ns" }, options: { metadataOnly: true } },
    { ref: { labelSelector: "knfleet.dev/definition=true" }, options: { metadataOnly: true } },
  ]);
});

test("an anchor is disturbed by a change that was not noted, until it is noted", async () => {
  observation.noteSingle(anchorAs(1));
  observation.watchSingles([anchor]);
  watches.listed("ConfigMap", [anchorAs(1)], "1");
  const written = anchorAs(5, { ours: "yes" });
  observation.noteSingle(written);
  watches.send("ConfigMap", { type: "MODIFIED", object: anchorAs(4, { older: "yes" }) });
  watches.send("ConfigMap", { type: "MODIFIED", object: written });
  watches.send("ConfigMap", { type: "MODIFIED", object: anchorAs(6, { ours: "yes" }) });
  watches.send("ConfigMap", { type: "MODIFIED", object: anchorAs(7) });
  await seen(1);
  expect(changes).toEqual([
    {
      kind: "object",
      key: { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "anchor" },
    },
  ]);
  expect(observation.isDisturbed()).toBe(true);
  observation.noteSingle(anchorAs(7));
  expect(observation.isDisturbed()).toBe(false);
});

test("an anchor that is gone is disturbed until another exists, also when it was read before it went", async () => {
  observation.noteSingle(anchorAs(1));
  observation.watchSingles([anchor]);
  watches.listed("ConfigMap", [anchorAs(1)]);
  watches.send("ConfigMap", { type: "DELETED", object: anchorAs(2) });
  await seen(1);
  expect(observation.isDisturbed()).toBe(true);
  observation.noteSingle(anchorAs(1));
  expect(observation.isDisturbed()).toBe(true);
  observation.noteSingle(anchorAs(3, {}, "another"));
  expect(observation.isDisturbed()).toBe(false);
});

test("an anchor whose watch fails for some seconds is disturbed until it is noted again", async () => {
  observation.noteSingle(anchorAs(1));
  observation.watchSingles([anchor]);
  watches.listed("ConfigMap", [anchorAs(1)]);
  for (let failure = 1; failure <= 5; failure += 1) {
    expect(observation.isDisturbed()).toBe(failure > 4);
    await watches.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(true));
    watches.send("ConfigMap", apiError(403, "configmaps is forbidden: User x cannot watch"));
    await watches.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(false));
  }
  expect(changes).toEqual([{ kind: "watch", resource: anchor.resource }]);
  observation.noteSingle(anchorAs(1));
  expect(observation.isDisturbed()).toBe(false);
});

test("a namespace that is not ours is not disturbed for ever by a watch that failed for a while", async () => {
  observation.watchSingles([namespace]);
  watches.listed("Namespace", [namespaceAs(1)]);
  for (let failure = 1; failure <= 4; failure += 1) {
    await watches.waitFor(() => expect(watches.isOpen("Namespace")).toBe(true));
    watches.send("Namespace", apiError(403, "namespaces is forbidden: User x cannot watch"));
    await watches.waitFor(() => expect(watches.isOpen("Namespace")).toBe(false));
  }
  expect(observation.isDisturbed()).toBe(true);
  await watches.waitFor(() => expect(watches.isOpen("Namespace")).toBe(true));
  watches.send("Namespace", { type: "MODIFIED", object: namespaceAs(2) });
  await watches.waitFor(() => expect(observation.isDisturbed()).toBe(false));
});

test.each(["60", "140"])(
  "an anchor of an older state, which was restored, is disturbed until it is noted (%s)",
  async (version) => {
    observation.noteSingle(anchorAs(8, { ours: "yes" }));
    observation.watchSingles([anchor]);
    watches.listed("ConfigMap", [anchorAs(8, { ours: "yes" })]);
    watches.send("ConfigMap", apiError(410, "too old resource version"));
    await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
    watches.listed("ConfigMap", [anchorAs(5)], version);
    await seen(1);
    expect(observation.isDisturbed()).toBe(true);
    observation.noteSingle(anchorAs(5));
    expect(observation.isDisturbed()).toBe(false);
  },
);

const anchorKey = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "anchor" };

function anotherAnchor(version: number): KubeObject {
  const { metadata, ...rest } = anchorAs(version);
  return { ...rest, metadata: { ...metadata, uid: "another" } };
}

test("an anchor is lost when it is gone, and not when another object of its name went before", async () => {
  observation.noteSingle(anotherAnchor(1));
  observation.watchSingles([anchor]);
  watches.listed("ConfigMap", [anotherAnchor(1)], "1");
  observation.noteSingle(anchorAs(3));
  expect(observation.isLost({ key: anchorKey, uid: "anchor" })).toBe(false);
  watches.send("ConfigMap", { type: "DELETED", object: anotherAnchor(2) });
  await seen(1);
  expect(observation.isLost({ key: anchorKey, uid: "anchor" })).toBe(false);
  expect(observation.isLost({ key: anchorKey, uid: "another" })).toBe(true);
  watches.send("ConfigMap", { type: "ADDED", object: anchorAs(3) });
  watches.send("ConfigMap", { type: "DELETED", object: anchorAs(4) });
  await seen(2);
  expect(observation.isLost({ key: anchorKey, uid: "anchor" })).toBe(true);
});

test("an anchor is lost when the first list has another object of its name", async () => {
  observation.noteSingle(anchorAs(1));
  observation.watchSingles([anchor]);
  expect(observation.isLost({ key: anchorKey, uid: "anchor" })).toBe(false);
  watches.listed("ConfigMap", [anotherAnchor(5)]);
  await watches.waitFor(() =>
    expect(observation.isLost({ key: anchorKey, uid: "anchor" })).toBe(true),
  );
});

test("a namespace that was noted is disturbed by other labels, and by nothing else that is written on it", async () => {
  observation.noteSingle(namespaceAs(1, { guard: "on" }));
  observation.watchSingles([namespace]);
  const { metadata, ...rest } = namespaceAs(2, { guard: "on" });
  const finalizers = ["theirs"];
  watches.listed("Namespace", [{ ...rest, metadata: { ...metadata, finalizers } }]);
  watches.send("Namespace", { type: "MODIFIED", object: namespaceAs(3, {}) });
  await seen(1);
  expect(changes).toEqual([{ kind: "object", key: namespaceKey }]);
  expect(observation.isDisturbed()).toBe(true);
  observation.noteSingle(namespaceAs(4, { guard: "on" }));
  expect(observation.isDisturbed()).toBe(false);
  watches.send("Namespace", {
    type: "MODIFIED",
    object: namespaceAs(5, { guard: "on", theirs: "too" }),
  });
  await seen(2);
  // What a cluster gives each new namespace is nothing that anybody waits for.
  expect(changes.slice(1)).toEqual([{ kind: "labels", key: namespaceKey }]);
  expect(observation.isDisturbed()).toBe(true);
  watches.send("Namespace", {
    type: "MODIFIED",
    object: namespaceAs(6, { guard: "off", theirs: "too" }),
  });
  await seen(3);
  expect(changes.slice(2)).toEqual([{ kind: "object", key: namespaceKey }]);
});

test("one disturbed object of several is enough", async () => {
  observation.noteSingle(anchorAs(1));
  observation.noteSingle(namespaceAs(1));
  observation.watchSingles([anchor, namespace]);
  watches.listed("ConfigMap", [anchorAs(1)], "1");
  watches.listed("Namespace", [namespaceAs(1)], "1");
  await watches.clock.advance(0);
  expect(observation.isDisturbed()).toBe(false);
  watches.send("ConfigMap", { type: "MODIFIED", object: anchorAs(2, { theirs: "yes" }) });
  await seen(1);
  expect(observation.isDisturbed()).toBe(true);
});

test("a namespace that was replaced is another one, whatever labels it has", async () => {
  observation.noteSingle(namespaceAs(1, { guard: "on" }));
  observation.watchSingles([namespace]);
  watches.listed("Namespace", [namespaceAs(1, { guard: "on" })], "1");
  const { metadata, ...rest } = namespaceAs(2, { guard: "on", theirs: "too" });
  watches.send("Namespace", {
    type: "MODIFIED",
    object: { ...rest, metadata: { ...metadata, uid: "another" } },
  });
  await seen(1);
  // Not "labels": nobody would wait for what a new namespace lacks.
  expect(new Set(changes.map(({ kind }) => kind))).toEqual(new Set(["object"]));
});

test("of a namespace that was not noted only its end matters, also when it came before the watch", async () => {
  observation.watchSingles([namespace]);
  watches.listed("Namespace", [namespaceAs(1)]);
  watches.send("Namespace", { type: "MODIFIED", object: namespaceAs(2, { team: "a" }) });
  watches.send("Namespace", { type: "DELETED", object: namespaceAs(3) });
  await seen(1);
  expect(changes).toEqual([{ kind: "object", key: namespaceKey }]);
  expect(observation.isDisturbed()).toBe(true);
  watches.send("Namespace", { type: "ADDED", object: namespaceAs(4) });
  await watches.waitFor(() => expect(observation.isDisturbed()).toBe(false));

  observation.watchSingles([]);
  observation.watchSingles([namespace]);
  watches.listed("Namespace", []);
  await seen(2);
  expect(observation.isDisturbed()).toBe(true);
});
