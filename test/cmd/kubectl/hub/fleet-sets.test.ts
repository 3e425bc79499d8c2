import { expect, test } from "vitest";

import { connectHub } from "../../../../access/hub/hub.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { listSets, readSet, servedSets } from "../../../../cmd/kubectl/hub/fleet-sets.ts";
import { NotServedError } from "../../../../cmd/kubectl/hub/installations.ts";
import { MalformedObjects } from "../../../../cmd/kubectl/hub/malformed-objects.ts";
import { allSetKinds } from "../../../../cmd/kubectl/selection/set-ref.ts";
import { type Answer, startStubHub } from "../stub-hub.ts";

const prod: KubeObject = {
  apiVersion: "knfleet.dev/v1alpha1",
  kind: "KnativeServingSet",
  metadata: { namespace: "platform", name: "prod", uid: "u1", resourceVersion: "1" },
  spec: { clusters: { from: "Selector", selector: {} }, template: { spec: { version: "1.23" } } },
};
const name = { kind: "KnativeServingSet", namespace: "platform", name: "prod" } as const;
const never = new AbortController().signal;

/** A hub that does not serve the kinds of sets. */
const unserved: Answer = ({ path }) =>
  path.includes("/knfleet.dev/") ? { status: 404, body: "404 page not found" } : undefined;

async function onHub<Result>(
  { answer, objects = [prod] }: { answer?: Answer; objects?: readonly KubeObject[] },
  use: (access: { hub: KubeClient; hubTimeoutMs: number }) => Promise<Result>,
): Promise<Result> {
  await using stub = await startStubHub(objects, answer);
  await using hub = await connectHub({
    clock: systemClock,
    environment: stub.env,
    userAgent: "test",
  });
  return await use({ hub: hub.client, hubTimeoutMs: 10_000 });
}

test("a set is read by its name", async () =>
  expect(await onHub({}, (access) => readSet(access, name, never))).toEqual(prod));

test("a set that does not exist is undefined", async () =>
  expect(await onHub({ objects: [] }, (access) => readSet(access, name, never))).toBeUndefined());

test("a hub without sets says how to get them", async () =>
  await expect(
    onHub({ answer: unserved }, (access) => readSet(access, name, never)),
  ).rejects.toThrow(NotServedError));

const clusters = { from: "Selector", selector: {} };
const fromWhy = "spec.clusters.from must be one of Selector, PlacementDecision, OCMPlacement";

test.each([
  ["no template", { clusters }, undefined, "spec.template is required"],
  ["no clusters", { template: {} }, undefined, "spec.clusters is required"],
  [
    "a text in place of stages",
    { clusters, template: {}, rollout: { stages: "all" } },
    undefined,
    "spec.rollout.stages must be array",
  ],
  [
    "conditions that are none",
    { clusters, template: {} },
    { conditions: [null] },
    "status.conditions[0] must be object",
  ],
  ["another source", { clusters: { from: "X" }, template: {} }, undefined, fromWhy],
  [
    "a template that cannot be rendered",
    { clusters, template: { spec: { config: { network: null } } } },
    undefined,
    "spec.template.spec.config.network must be object",
  ],
  [
    "an override that cannot be rendered",
    { clusters, template: {}, overrides: [{ name: "eu", patch: { config: { network: 5 } } }] },
    undefined,
    "spec.template.spec with the override eu: spec.config.network must be object",
  ],
])("an object with %s hides no set, and is none", async (...[, spec, status, why]) => {
  const metadata = { ...prod.metadata, name: "odd", uid: "u2" };
  const odd: KubeObject = { ...prod, metadata, spec, ...(status === undefined ? {} : { status }) };
  const objects = [odd, prod];
  const selection = { kinds: allSetKinds };
  const served = await onHub({ objects }, (access) => servedSets(access, selection, never));
  expect(served).toEqual({ sets: [prod], malformed: [{ ...name, name: "odd", uid: "u2", why }] });
  await expect(
    onHub({ objects: [odd] }, (access) => readSet(access, { ...name, name: "odd" }, never)),
  ).rejects.toThrow(`KnativeServingSet platform/odd has not the form of a set: ${why}`);
  // Who lists sets without a place for what is none is told of it.
  await expect(onHub({ objects }, (access) => listSets(access, selection, never))).rejects.toThrow(
    why,
  );
  const malformed = new MalformedObjects();
  const listed = onHub({ objects }, (access) =>
    listSets({ ...access, malformed }, selection, never),
  );
  expect(await listed).toEqual([prod]);
  expect(malformed.errors).toEqual([
    {
      reason: "Malformed",
      cluster: null,
      message: `KnativeServingSet platform/odd has not the form of a set, and is left out: ${why}`,
    },
  ]);
});

test("a list holds the sets of the kinds, and none on a hub without sets", async () => {
  const selection = { kinds: allSetKinds };
  expect(await onHub({}, (access) => listSets(access, selection, never))).toEqual([prod]);
  const none = await onHub({ answer: unserved }, (access) => listSets(access, selection, never));
  expect(none).toEqual([]);
});
