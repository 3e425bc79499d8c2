import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { type Component, componentKinds } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { hold, NotHeld, release, wasWritten } from "../../../controller/reconcile/hold.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { openStatusWriter } from "../../../controller/status/status-writer.ts";
import { uninstall } from "../../../controller/uninstall/uninstall.ts";
import { unexpected } from "../../support/bare-client.ts";
import { serving } from "../../support/component.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { hubWithNone, kind, name, workOf } from "../dispatched-hub.ts";

const { signal } = new AbortController();
const { finalizer } = componentKinds.KnativeServing;
const spec = { clusterProfileRef: { namespace: "knative-serving", name: "typo" } };
const deletionTimestamp = "2026-01-02T00:00:00Z";

function acquire(): Promise<never> {
  return Promise.reject(new FleetError("ClusterProfileNotFound", "There is none"));
}

/** A hub with one component, whose cluster cannot be had. */
function hubWithout(component: Component, patch?: KubeClient["patch"]) {
  const memory = new MemoryHub();
  const hub = hubWithNone({ memory, patch: patch ?? ((...args) => memory.patch(...args)) });
  memory.edit(kind, name, component);
  const spokes = { ...hub.deps.spokes, acquire };
  hub.dispatcher.start(workOf({ ...hub.deps, spokes }));
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 3; round += 1) {
      await hub.clock.advance(1_000);
      for (const { taken } of hub.told) taken();
    }
  };
  return { ...hub, settle };
}

/** What `hold` is given for a component, and the hub that has it. */
function holding(component: Component, patch?: KubeClient["patch"]) {
  const hub = hubWithout(component, patch);
  const { stored, deps } = hub;
  const installation = new Installation(component.metadata.uid);
  const writer = openStatusWriter(
    { component: stored(), pace: installation.statusPace },
    deps,
    signal,
  );
  return { ...hub, subject: { component: stored(), installation, writer } };
}

test("a component whose cluster cannot be reached gets no finalizer, and its status says why", async () => {
  const { dispatcher, stored, settle } = hubWithout(serving({ spec }));
  await using _dispatcher = dispatcher;
  dispatcher.componentChanged(stored(), undefined);
  await settle();
  expect(stored().metadata["finalizers"]).toBeUndefined();
  expect(stored().status?.conditions).toContainEqual(
    expect.objectContaining({
      type: "TargetClusterResolved",
      status: "False",
      reason: "ClusterProfileNotFound",
    }),
  );
});

test("an installed component gets its finalizer back while its cluster cannot be reached", async () => {
  const status = { version: "1.23.0" };
  const { dispatcher, stored, settle } = hubWithout(serving({ spec, status }));
  await using _dispatcher = dispatcher;
  dispatcher.componentChanged(stored(), undefined);
  await settle();
  expect(stored().metadata["finalizers"]).toEqual([finalizer]);
});

test("a deleted component with a finalizer waits for its cluster", async () => {
  const metadata = { finalizers: [finalizer], deletionTimestamp };
  const { dispatcher, stored, settle } = hubWithout(serving({ spec, metadata }));
  await using _dispatcher = dispatcher;
  dispatcher.componentChanged(stored(), undefined);
  await settle();
  expect(stored().metadata["finalizers"]).toEqual([finalizer]);
});

test("a component that was deleted, or created again, before its finalizer was stored is not held", async () => {
  const { subject, deps, memory } = holding(serving({ spec }));
  memory.drop(kind, name);
  await expect(hold(subject, deps, signal)).rejects.toEqual(new NotHeld());
  memory.edit(kind, name, serving({ spec, metadata: { uid: "another", resourceVersion: "9" } }));
  await expect(hold(subject, deps, signal)).rejects.toEqual(new NotHeld());
  expect(memory.find(kind, name)?.metadata.finalizers).toBeUndefined();
});

test("a component that is gone, or another one, before its place is recorded is not held", async () => {
  const metadata = { finalizers: [finalizer] };
  const { subject, deps, memory } = holding(serving({ spec, metadata }));
  const place = { ...deps, namespace: "knative-serving" };
  memory.edit(kind, name, serving({ spec, metadata: { ...metadata, uid: "another" } }));
  await expect(hold(subject, place, signal)).rejects.toEqual(new NotHeld());
  memory.drop(kind, name);
  await expect(hold(subject, place, signal)).rejects.toEqual(new NotHeld());
});

test("the error of a hub that refuses the finalizer is the cause, and nothing may be written", async () => {
  const error = new Error("The hub is gone");
  const { subject, deps } = holding(serving({ spec }), () => Promise.reject(error));
  await expect(hold(subject, deps, signal)).rejects.toMatchObject({ cause: error });
  expect(subject.installation.isUntouched).toBe(true);
});

function refusing(message: string, status = 403): KubeClient["patch"] {
  const request = "PATCH /knativeservings";
  const facts = { status, reason: "", message, causes: [], isStatus: true, request };
  return () => Promise.reject(new ApiError(facts));
}

const policy = `ValidatingAdmissionPolicy 'labels' with binding 'labels' denied request: no owner`;

test.each([
  [policy, "the ValidatingAdmissionPolicy labels denies it", "AdmissionRefused"],
  ["needs an owner", "needs an owner", undefined],
])("a component whose finalizer the hub does not take says why: %s", async (message, why, code) => {
  const status = { version: "1.23.0" };
  const component = serving({ spec, status });
  const { dispatcher, stored, settle, subject, deps } = holding(component, refusing(message));
  const sentence = `Nothing is written to the cluster, because the hub does not take the finalizer: ${why}`;
  await expect(hold(subject, deps, signal)).rejects.toMatchObject({
    reason: "ApplyFailed",
    message: expect.stringContaining(sentence),
    ...(code && { code }),
  });
  await using _dispatcher = dispatcher;
  dispatcher.componentChanged(stored(), undefined);
  await settle();
  expect(stored().status?.conditions).toContainEqual(
    expect.objectContaining({
      type: "InstallSucceeded",
      status: "False",
      message: expect.stringContaining(sentence),
    }),
  );
});

test("a removed component whose finalizer the hub does not let go says why, and goes when it does", async () => {
  const metadata = { deletionTimestamp, finalizers: [finalizer] };
  let isRefused = true;
  const memory = new MemoryHub();
  const hub = hubWithNone({
    memory,
    patch: (...args) => (isRefused ? refusing(policy, 422) : memory.patch)(...args),
  });
  memory.edit(kind, name, serving({ spec, metadata }));
  const component = hub.stored();
  const installation = new Installation(component.metadata.uid);
  installation.noteRequested();
  const events = { record: async () => undefined, audit: async () => undefined };
  const deps = { ...hub.deps, events, onChange: unexpected };
  const remove = () =>
    installation.attempt(
      { component, ...deps },
      (writer, either) => uninstall({ component, installation, writer }, deps, either),
      signal,
    );
  expect(await remove()).toEqual({ kind: "backoff" });
  expect(hub.stored().status?.conditions).toContainEqual(
    expect.objectContaining({
      message: expect.stringContaining(
        "Everything is removed, but the hub does not let the finalizer go: the ValidatingAdmissionPolicy labels denies it",
      ),
    }),
  );
  isRefused = false;
  expect(await remove()).toEqual({ kind: "done" });
  expect(hub.stored().metadata["finalizers"]).toEqual([]);
});

test("a component that was deleted before the first write to its cluster is removed without its cluster", async () => {
  const deleted = new AbortController();
  const memory = new MemoryHub();
  const hub = hubWithNone({
    memory,
    patch: async (...args) => {
      const answer = await memory.patch(...args);
      deleted.abort(new DOMException("The component has changed", "AbortError"));
      return answer;
    },
  });
  memory.edit(kind, name, serving({ spec }));
  const installation = new Installation(hub.stored().metadata.uid);
  const writer = openStatusWriter(
    { component: hub.stored(), pace: installation.statusPace },
    hub.deps,
    signal,
  );
  const subject = { component: hub.stored(), installation, writer };
  await expect(hold(subject, hub.deps, deleted.signal)).rejects.toThrow("has changed");
  expect(hub.stored().metadata["finalizers"]).toEqual([finalizer]);
  // Whoever goes on with it may write.
  const next = new Installation(hub.stored().metadata.uid);
  next.noteRequested();
  await hold({ ...subject, installation: next }, hub.deps, signal);
  expect(next.isUntouched).toBe(false);
  // Whoever takes it away asks no cluster.
  memory.edit(kind, name, { metadata: { ...hub.stored().metadata, deletionTimestamp } });
  const deps = { ...hub.deps, onChange: unexpected };
  const component = hub.stored();
  const gone = await installation.attempt(
    { component, ...deps },
    (opened, either) => uninstall({ component, installation, writer: opened }, deps, either),
    signal,
  );
  expect(gone).toEqual({ kind: "done" });
  expect(hub.stored().metadata["finalizers"]).toEqual([]);
});

test("a component that was released asks no cluster again while the watch of the hub lags, unless the hub was restored", async () => {
  const metadata = { deletionTimestamp, finalizers: [finalizer, "other"] };
  const { subject, deps, stored } = holding(serving({ spec, metadata }));
  await release(subject, deps, signal);
  expect(stored().metadata["finalizers"]).toEqual(["other"]);
  const unasked = { ...deps, onChange: unexpected };
  expect(await uninstall(subject, unasked, signal)).toEqual({ kind: "done" });
  subject.installation.undo();
  expect(subject.installation.isReleased).toBe(false);
});

test("status and memory show whether anything was written", () => {
  const installation = new Installation("a");
  expect(wasWritten({ component: serving(), installation })).toBe(false);
  const status = { manifests: ["core.yaml"] };
  expect(wasWritten({ component: serving({ status }), installation })).toBe(true);
});
