import { expect, test } from "vitest";

import { ApiError } from "../../access/kube/api-error.ts";
import type { SpokeState } from "../../access/spokes/spokes.ts";
import { abortable } from "../../access/time/deadline.ts";
import { componentKinds, forceOrphanAnnotation } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { Guards } from "../../controller/guard/guards.ts";
import { namesChangeable } from "../../render/release/user-manifests.ts";
import { unexpected } from "../support/bare-client.ts";
import { serving } from "../support/component.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { silentLog } from "../support/silent-log.ts";
import { hubWithNone, hubWithOne, kind, name, refused, workOf } from "./dispatched-hub.ts";

test("T-04 a component that may not use its cluster gets a condition, and no request is sent", async () => {
  const { memory, clock, told, dispatcher, stored, deps } = hubWithOne();
  await using _dispatcher = dispatcher;
  dispatcher.start(workOf(deps));
  dispatcher.componentChanged(stored(), undefined);
  await clock.advance(0);
  const refusal = stored().status?.conditions?.find(({ type }) => type === "Ready");
  expect(refusal).toMatchObject({ status: "False", reason: "ReferenceNotPermitted" });
  expect(stored().metadata["finalizers"]).toBeUndefined();
  expect(told.map(({ event }) => event.reason)).toContain("ReferenceNotPermitted");
  for (const { taken } of told) taken();
  expect(memory.requests).toBe(1);
});

test("a component whose attempt begins at once gets no greeting", async () => {
  const { promise: answer, reject } = Promise.withResolvers<never>();
  const hub = hubWithNone({ patch: () => answer });
  const { memory, clock, dispatcher, stored, deps } = hub;
  await using _dispatcher = dispatcher;
  dispatcher.start(workOf(deps));
  memory.edit(kind, name, serving({ status: { version: "1.23.0" } }));
  dispatcher.componentChanged(stored(), undefined);
  await clock.advance(1_000);
  const { requests } = memory;
  reject(new Error("The hub is gone"));
  // The finalizer was requested first.
  expect(requests).toBe(0);
});

test("a status that is deleted while its Events are recorded is written again", async () => {
  const { memory, clock, told, dispatcher, stored, deps } = hubWithOne();
  await using _dispatcher = dispatcher;
  dispatcher.start(workOf(deps));
  const first = stored();
  dispatcher.componentChanged(first, undefined);
  await clock.advance(0);
  const written = stored();
  expect(written.status?.conditions).toBeDefined();
  dispatcher.componentChanged(written, first);
  memory.edit(kind, name, { ...written, status: {} });
  dispatcher.componentChanged(stored(), written);
  // The attempt ends here.
  for (const { taken } of told) taken();
  await clock.advance(0);
  for (const { taken } of told) taken();
  await clock.advance(1_000);
  expect(stored().status?.conditions).toEqual(written.status?.conditions);
});

test("a running removal ends as soon as its component is orphaned, and not before", async () => {
  const memory = new MemoryHub();
  const hub = hubWithNone({ memory, patch: (...args) => memory.patch(...args) });
  const { clock, told, dispatcher, stored, deps } = hub;
  await using _dispatcher = dispatcher;
  const signals: AbortSignal[] = [];
  // A cluster that does not answer during the test.
  const acquire = (_ref: unknown, signal: AbortSignal): Promise<never> => {
    signals.push(signal);
    return abortable(new Promise<never>(() => undefined), signal);
  };
  const spokes = { ...deps.spokes, acquire };
  dispatcher.start(workOf({ ...deps, spokes }));
  const { finalizer } = componentKinds.KnativeServing;
  const metadata = { deletionTimestamp: "2026-01-02T00:00:00Z", finalizers: [finalizer] };
  const clusterProfileRef = { namespace: "knative-serving", name: "c" };
  memory.edit(kind, name, serving({ metadata, spec: { clusterProfileRef } }));
  dispatcher.componentChanged(stored(), undefined);
  await clock.advance(0);
  const annotate = async (annotations: Readonly<Record<string, string>>): Promise<void> => {
    const before = stored();
    memory.edit(kind, name, { metadata: { ...before.metadata, annotations } });
    dispatcher.componentChanged(stored(), before);
    await clock.advance(1_000);
  };
  await annotate({ [forceOrphanAnnotation]: "another" });
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await annotate({ [forceOrphanAnnotation]: stored().metadata.uid });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  for (const { taken } of told) taken();
  await clock.advance(1_000);
  expect(told.map(({ event }) => event.reason)).toContain("Orphaned");
  expect(stored().metadata["finalizers"]).toEqual([]);
  expect(signals).toHaveLength(1);
});

test("C11: a busy hub gets no request for as long as it asks", async () => {
  const { clock, dispatcher, stored, deps } = hubWithOne();
  await using _dispatcher = dispatcher;
  let writes = 0;
  const facts = { status: 429, reason: "", message: "", causes: [], isStatus: false };
  const replace = (): Promise<never> => {
    writes += 1;
    return Promise.reject(new ApiError({ ...facts, request: "PUT /", retryAfterMs: 20_000 }));
  };
  dispatcher.start(workOf({ ...deps, hub: { ...deps.hub, replace } }));
  dispatcher.componentChanged(stored(), undefined);
  await clock.advance(19_999);
  const before = writes;
  await clock.advance(10_000);
  expect([before, writes]).toEqual([1, 2]);
});

test("an attempt on a spoke that is lost ends at once, and the status shows the loss", async () => {
  const memory = new MemoryHub();
  const hub = hubWithNone({ memory, patch: (...args) => memory.patch(...args) });
  const { clock, told, dispatcher, stored, deps } = hub;
  await using _dispatcher = dispatcher;
  const signals: AbortSignal[] = [];
  const error = new FleetError("RemoteClientCreationFailed", "Away", { code: "Unreachable" });
  let state: SpokeState = { kind: "connecting" };
  // Like an attempt that waits a minute for the first lists of its watches.
  const acquire = (_ref: unknown, signal: AbortSignal): Promise<never> => {
    signals.push(signal);
    if (state.kind === "lost") return Promise.reject(error);
    return abortable(new Promise<never>(() => undefined), signal);
  };
  const spokes = { acquire, state: () => state };
  dispatcher.start(workOf({ ...deps, spokes }));
  const { finalizer } = componentKinds.KnativeServing;
  const clusterProfileRef = { namespace: "knative-serving", name: "c" };
  const metadata = { deletionTimestamp: "2026-01-02T00:00:00Z", finalizers: [finalizer] };
  memory.edit(kind, name, serving({ metadata, spec: { clusterProfileRef } }));
  dispatcher.componentChanged(stored(), undefined);
  await clock.advance(0);
  dispatcher.spokeChanged(clusterProfileRef);
  await clock.advance(0);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  const profile = { ...clusterProfileRef, uid: "d" };
  const { signal } = new AbortController();
  const connection = { client: deps.hub, profile, provider: "p", fingerprint: "f", signal };
  state = { kind: "lost", connection, error };
  dispatcher.spokeChanged(clusterProfileRef);
  await clock.advance(1_000);
  for (const { taken } of told) taken();
  await clock.advance(1_000);
  expect(signals.map(({ aborted }) => aborted)[0]).toBe(true);
  const resolved = stored().status?.conditions?.find(
    ({ type }) => type === "TargetClusterResolved",
  );
  expect(resolved).toMatchObject({ status: "Unknown", reason: "SpokeUnreachable" });
});

const url = "https://files.example.com/extra.yaml";
const pinned = `${url}#sha256=${"a".repeat(64)}`;

test.each([
  { what: "additional manifests", spec: { additionalManifests: [{ URL: url }] }, reconciles: 1 },
  {
    what: "manifests in place of the bundled ones",
    spec: { manifests: [{ URL: url }] },
    reconciles: 1,
  },
  {
    what: "pinned manifests only",
    spec: { additionalManifests: [{ URL: pinned }] },
    reconciles: 0,
  },
  { what: "no manifests", spec: {}, reconciles: 0 },
])(
  "a component that names $what has $reconciles reconciles when there are other ones",
  async ({ spec, reconciles }) => {
    const { memory, clock, dispatcher, deps } = hubWithNone();
    await using _dispatcher = dispatcher;
    // The greeting asks, too.
    memory.edit(kind, name, serving({ spec, status: { conditions: [] } }));
    let asked = 0;
    // Asked before each attempt.
    const mayWrite = (): boolean => {
      asked += 1;
      return false;
    };
    dispatcher.start(workOf(deps, mayWrite));
    await clock.advance(0);
    const before = asked;
    dispatcher.requeue(namesChangeable);
    await clock.advance(1_000);
    expect(asked - before).toBe(reconciles);
  },
);

test("a component that was deleted without its uninstall is no longer guarded", async () => {
  const { clock, dispatcher, deps } = hubWithNone();
  await using _dispatcher = dispatcher;
  const signals: AbortSignal[] = [];
  // A cluster that never answers.
  const asked = (...args: readonly unknown[]): Promise<never> => {
    const signal = args.at(-1);
    if (signal instanceof AbortSignal) signals.push(signal);
    return new Promise(() => undefined);
  };
  const client = { ...deps.hub, get: asked, apply: asked, patch: asked, request: asked };
  const guards = new Guards({
    clock,
    log: silentLog,
    hubId: "hub",
    protection: "Policy",
    crds: false,
    onChange: () => undefined,
    onEvent: unexpected,
  });
  const profile = { namespace: "b", name: "c" };
  const target = { client, profile, namespace: name, fieldManager: "knfleet-hub", hubId: "hub" };
  guards.protect(refused, { target, signal: new AbortController().signal });
  dispatcher.start(workOf({ ...deps, guards }));
  await clock.advance(0);
  expect(signals.map(({ aborted }) => aborted)).not.toContain(true);
  dispatcher.componentDeleted(refused);
  expect(signals.length).toBeGreaterThan(0);
  expect(signals.map(({ aborted }) => aborted)).not.toContain(false);
});

test("an attempt whose status the hub refuses is counted", async () => {
  const { memory, clock, dispatcher, stored, deps } = hubWithOne();
  await using _dispatcher = dispatcher;
  const counted = async (): Promise<unknown> =>
    /^knfleet_hub_failures_total (\d+)$/m.exec(await deps.metrics.render())?.[1];
  dispatcher.start(workOf(deps));
  expect(await counted()).toBe("0");
  memory.fail();
  dispatcher.componentChanged(stored(), undefined);
  await clock.advance(0);
  expect(await counted()).toBe("1");
});
