import { expect, test } from "vitest";

import { describe as nameOf, type KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { Confirmations } from "../../../controller/guard/confirmations.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";

const resource = knownResource("v1", "ConfigMap");
const namespaces = knownResource("v1", "Namespace");
const minute = 60_000;

function anchor(value?: string, uid = "u1"): KubeObject {
  const annotations: Record<string, string> =
    value === undefined ? {} : { "operator.knative.dev/confirm-deletion": value };
  const metadata = { namespace: "ns", name: "anchor", uid, resourceVersion: "1", annotations };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

function scene() {
  const clock = new FakeClock();
  const patches: unknown[] = [];
  const refs: unknown[] = [];
  const withdrawn: string[] = [];
  const end = new AbortController();
  const failures: Error[] = [];
  const confirmations = new Confirmations({
    client: {
      patch: (ref, patch) => {
        refs.push(ref);
        patches.push(patch);
        const failure = failures.shift();
        return failure === undefined ? Promise.resolve(anchor()) : Promise.reject(failure);
      },
    },
    fieldManager: "knfleet",
    clock,
    log: silentLog,
    onWithdrawn: (key) => withdrawn.push(nameOf(key)),
    signal: end.signal,
  });
  return { clock, refs, patches, withdrawn, end, failures, confirmations };
}

test("a confirmation that nobody used is withdrawn after 15 minutes", async () => {
  const { clock, patches, withdrawn, confirmations } = scene();
  confirmations.note(anchor("u1"), resource);
  await clock.advance(14 * minute);
  confirmations.note(anchor("u1"), resource);
  expect(patches).toEqual([]);
  await clock.advance(minute);
  expect(patches).toEqual([
    [
      { op: "test", path: "/metadata/uid", value: "u1" },
      { op: "remove", path: "/metadata/annotations/operator.knative.dev~1confirm-deletion" },
    ],
  ]);
  expect(withdrawn).toEqual(["ConfigMap ns/anchor"]);
});

test.each([
  ["that was taken back", anchor()],
  ["of an object that is another by now", anchor(undefined, "u1")],
])("a confirmation %s is left alone", async (_what, after) => {
  const { clock, patches, confirmations } = scene();
  confirmations.note(anchor("u1"), resource);
  confirmations.note(after, resource);
  await clock.advance(20 * minute);
  expect(patches).toEqual([]);
});

test("nothing is withdrawn over a connection that has ended", async () => {
  const { clock, patches, end, confirmations } = scene();
  confirmations.note(anchor("u1"), resource);
  end.abort();
  await clock.advance(20 * minute);
  expect(patches).toEqual([]);
});

test("a withdrawal that fails is tried again until it succeeds, or nobody wants it any more", async () => {
  const { clock, patches, withdrawn, failures, confirmations } = scene();
  failures.push(new Error("The spoke is away"), new Error("Still"));
  confirmations.note(anchor("u1"), resource);
  await clock.advance(15 * minute);
  expect([patches.length, withdrawn.length]).toEqual([1, 0]);
  await clock.advance(2 * minute);
  expect([patches.length, withdrawn.length]).toEqual([3, 1]);
  await clock.advance(60 * minute);
  expect(patches).toHaveLength(3);

  failures.push(new Error("The spoke is away"));
  confirmations.note(anchor("u1"), resource);
  await clock.advance(15 * minute);
  confirmations.forget();
  await clock.advance(60 * minute);
  expect(patches).toHaveLength(4);
});

test("a confirmation is withdrawn from the object that has it, in a namespace or in none", async () => {
  const { clock, refs, withdrawn, confirmations } = scene();
  const { namespace: _, ...metadata } = anchor("u2", "u2").metadata;
  confirmations.note(anchor("u1"), resource);
  confirmations.note({ apiVersion: "v1", kind: "Namespace", metadata }, namespaces);
  await clock.advance(15 * minute);
  expect(refs).toEqual([
    { resource, namespace: "ns", name: "anchor" },
    { resource: namespaces, name: "anchor" },
  ]);
  expect(withdrawn).toEqual(["ConfigMap ns/anchor", "Namespace anchor"]);
});

test("a confirmation that was taken back and given again is withdrawn, too", async () => {
  const { clock, patches, confirmations } = scene();
  confirmations.note(anchor("u1"), resource);
  confirmations.note(anchor(), resource);
  await clock.advance(20 * minute);
  expect(patches).toEqual([]);
  confirmations.note(anchor("u1"), resource);
  await clock.advance(15 * minute);
  expect(patches).toHaveLength(1);
});
