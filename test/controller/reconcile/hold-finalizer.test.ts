import { beforeEach, expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import type { ObjectMeta } from "../../../api/kubernetes.ts";
import { hasFinalizer, asComponent } from "../../../controller/component-identity.ts";
import { addFinalizer, removeFinalizer } from "../../../controller/reconcile/hold.ts";
import { serving } from "../../support/component.ts";
import { MemoryHub } from "../../support/memory-hub.ts";

const { signal } = new AbortController();
const namespace = "knative-serving";
const ours = "knativeservings.operator.knative.dev";
let hub: MemoryHub;

beforeEach(() => {
  hub = new MemoryHub();
});

function stored(metadata: Partial<ObjectMeta> = {}): Component {
  const object = hub.edit("KnativeServing", "knative-serving", serving({ metadata }));
  const component = asComponent(object);
  if (component === undefined) throw new Error("It is no component");
  return component;
}

function finalizers(): readonly string[] | undefined {
  return hub.find("KnativeServing", "knative-serving")?.metadata.finalizers;
}

test("our finalizer comes after others' and is there once", async () => {
  const component = await addFinalizer(
    stored({ finalizers: ["other"] }),
    { client: hub, namespace },
    signal,
  );
  expect(finalizers()).toEqual(["other", ours]);
  expect(component === undefined ? false : hasFinalizer(component)).toBe(true);
  const { requests } = hub;
  if (component !== undefined) await addFinalizer(component, { client: hub, namespace }, signal);
  expect(hub.requests).toBe(requests);
});

test("our finalizer goes and others' stay, also when they came in between", async () => {
  const component = stored({ finalizers: [ours] });
  stored({ finalizers: [ours, "late"] });
  await removeFinalizer(component, hub, signal);
  expect(finalizers()).toEqual(["late"]);
});

test("a component that is being deleted gets no finalizer", async () => {
  const component = stored();
  stored({ deletionTimestamp: "2026-01-01T00:00:00Z" });
  expect(await addFinalizer(component, { client: hub, namespace }, signal)).toBeUndefined();
  expect(finalizers()).toBeUndefined();
});

test("a component that is gone has nothing to lose", async () => {
  const component = stored({ finalizers: [ours] });
  hub.drop("KnativeServing", "knative-serving");
  await expect(removeFinalizer(component, hub, signal)).resolves.toBeUndefined();
});

test("the finalizer of a component for a spoke comes with the namespace that it is installed in, in one request", async () => {
  const remote = serving({
    metadata: { namespace: "team-a" },
    spec: { clusterProfileRef: { namespace: "fleet", name: "one" } },
  });
  const component = asComponent(hub.edit("KnativeServing", "knative-serving", remote));
  if (component === undefined) throw new Error("It is no component");
  const { requests } = hub;
  const held = await addFinalizer(component, { client: hub, namespace }, signal);
  expect(hub.requests).toBe(requests + 1);
  expect(held?.metadata.finalizers).toEqual([ours]);
  expect(held?.metadata.annotations).toEqual({ "knfleet.dev/spoke-namespace": namespace });
});

test("a component for the hub itself needs no record of its namespace", async () => {
  const held = await addFinalizer(stored(), { client: hub, namespace }, signal);
  expect(held?.metadata.annotations).toBeUndefined();
});
