import { expect, test } from "vitest";

import { connectHub } from "../../../../access/hub/hub.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { listSets, readSet, servedSets } from "../../../../cmd/kubectl/hub/fleet-sets.ts";
import { NotServedError } from "../../../../cmd/kubectl/hub/installations.ts";
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

test.each([
  ["no template", { clusters: {} }, undefined],
  ["no clusters", { template: {} }, undefined],
  [
    "a text in place of stages",
    { clusters: {}, template: {}, rollout: { stages: "all" } },
    undefined,
  ],
  ["conditions that are none", { clusters: {}, template: {} }, { conditions: [null] }],
])("an object with %s hides no set, and is none", async (_, spec, status) => {
  const metadata = { ...prod.metadata, name: "odd", uid: "u2" };
  const odd: KubeObject = { ...prod, metadata, spec, ...(status === undefined ? {} : { status }) };
  const objects = [odd, prod];
  const selection = { kinds: allSetKinds };
  const served = await onHub({ objects }, (access) => servedSets(access, selection, never));
  expect(served).toEqual({ sets: [prod], malformed: [{ ...name, name: "odd" }] });
  await expect(
    onHub({ objects: [odd] }, (access) => readSet(access, { ...name, name: "odd" }, never)),
  ).rejects.toThrow("KnativeServingSet platform/odd has not the form of a set");
});

test("a list holds the sets of the kinds, and none on a hub without sets", async () => {
  const selection = { kinds: allSetKinds };
  expect(await onHub({}, (access) => listSets(access, selection, never))).toEqual([prod]);
  const none = await onHub({ answer: unserved }, (access) => listSets(access, selection, never));
  expect(none).toEqual([]);
});
