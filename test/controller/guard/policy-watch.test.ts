import { expect, onTestFinished, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { PolicyWatch } from "../../../controller/guard/policy-watch.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";

const policy = "ValidatingAdmissionPolicy";
const binding = "ValidatingAdmissionPolicyBinding";
const apiVersion = "admissionregistration.k8s.io/v1";

/** Watches that begin with what is there, as a WatchList does, each as soon as `ready` says so of its kind. */
function eventsOf(
  memory: MemoryHub,
  ready: (kind: string) => Promise<void> | undefined,
): KubeClient["watch"] {
  return async function* events(ref, options, signal) {
    await ready(ref.resource.kind);
    const initial = memory.all(ref.resource.kind);
    for (const object of initial) yield { type: "ADDED", object } as const;
    const { version: resourceVersion } = memory;
    yield { type: "BOOKMARK", resourceVersion, initialEventsEnd: true } as const;
    yield* memory.watch(ref, options, signal);
  };
}

/** A cluster with a policy and its binding, and a watch that has noted both. */
async function watched(
  noted: readonly string[] = [policy, binding],
  ready: (kind: string) => Promise<void> | undefined = () => undefined,
) {
  const clock = new FakeClock();
  const memory = new MemoryHub();
  const warnings: unknown[] = [];
  let disturbed = 0;
  const edit = (kind: string, metadata: object = {}, fields: object = {}): KubeObject =>
    memory.edit(kind, "guard", {
      apiVersion,
      metadata: { name: "guard", uid: kind, generation: 1, labels: { a: "b" }, ...metadata },
      ...fields,
    });
  const objects = [edit(policy), edit(binding)].filter(({ kind }) => noted.includes(kind));
  const begin = async (): Promise<PolicyWatch> => {
    const watch = new PolicyWatch(
      {
        clock,
        client: { list: memory.list, watch: eventsOf(memory, ready) },
        hubId: "hub",
        log: { ...silentLog, warn: (fields) => warnings.push(fields) },
        onDisturbed: () => (disturbed += 1),
        onInterrupted: () => undefined,
      },
      objects,
    );
    onTestFinished(() => watch[Symbol.dispose]());
    await clock.advance(0);
    return watch;
  };
  const isDisturbed = async (): Promise<boolean> => {
    await clock.advance(0);
    return disturbed > 0;
  };
  return { memory, warnings, edit, begin, isDisturbed };
}

test.each<{ name: string; metadata: object; is: boolean }>([
  { name: "has the same state", metadata: {}, is: false },
  { name: "has another annotation", metadata: { annotations: { c: "d" } }, is: false },
  { name: "has another spec", metadata: { generation: 2 }, is: true },
  { name: "has other labels", metadata: { labels: {} }, is: true },
  { name: "is another object", metadata: { uid: "other" }, is: true },
  { name: "is going", metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" }, is: true },
])("a guard whose policy $name is disturbed: $is", async ({ metadata, is }) => {
  const { edit, begin, isDisturbed } = await watched();
  await begin();
  expect(await isDisturbed()).toBe(false);
  edit(policy, metadata);
  expect(await isDisturbed()).toBe(is);
});

test.each([policy, binding])("a guard is disturbed when its %s is deleted", async (kind) => {
  const { memory, begin, isDisturbed } = await watched();
  await begin();
  memory.drop(kind, "guard");
  expect(await isDisturbed()).toBe(true);
});

test.each([policy, binding])("a guard is disturbed when its %s went unseen", async (kind) => {
  const { memory, begin, isDisturbed } = await watched();
  memory.drop(kind, "guard");
  await begin();
  expect(await isDisturbed()).toBe(true);
});

test("a guard is not disturbed while one of its lists is not there yet", async () => {
  const { promise: come, resolve } = Promise.withResolvers<void>();
  const late = (kind: string) => (kind === binding ? come : undefined);
  const { begin, isDisturbed } = await watched([policy, binding], late);
  await begin();
  expect(await isDisturbed()).toBe(false);
  resolve();
  expect(await isDisturbed()).toBe(false);
});

test("what was noted before does not matter when other states are noted", async () => {
  const { memory, begin, isDisturbed } = await watched();
  const watch = await begin();
  watch.note([]);
  memory.drop(policy, "guard");
  expect(await isDisturbed()).toBe(false);
});

test("a watch that was disposed tells nothing more", async () => {
  const { edit, begin, isDisturbed } = await watched();
  const watch = await begin();
  watch[Symbol.dispose]();
  edit(policy, { generation: 2 });
  expect(await isDisturbed()).toBe(false);
});

test("objects that were not noted do not matter", async () => {
  const { memory, edit, begin, isDisturbed } = await watched([policy]);
  await begin();
  edit(binding, { generation: 7 });
  memory.drop(binding, "guard");
  expect(await isDisturbed()).toBe(false);
});

const said = (...texts: readonly string[]) => ({
  status: { typeChecking: { expressionWarnings: texts.map((warning) => ({ warning })) } },
});

test("what the type checker of the cluster says is told once", async () => {
  const { warnings, edit, begin, isDisturbed } = await watched();
  edit(policy, {}, said("no such field"));
  await begin();
  edit(policy, {}, said("no such field", "no such type"));
  expect(await isDisturbed()).toBe(false);
  expect(warnings).toEqual([
    { policy: "guard", warning: "no such field" },
    { policy: "guard", warning: "no such type" },
  ]);
});
