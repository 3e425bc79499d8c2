import { beforeEach, describe, expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import { FleetError } from "../../../api/errors.ts";
import { asComponent } from "../../../controller/component-identity.ts";
import { EventRecorder } from "../../../controller/events.ts";
import type { Next } from "../../../controller/queue/delays.ts";
import { WorkQueue } from "../../../controller/queue/queue.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { conclude } from "../../../controller/reconcile/report.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { openStatusWriter } from "../../../controller/status/status-writer.ts";
import { serving } from "../../support/component.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { metricsOf } from "../../support/metrics.ts";
import { silentLog } from "../../support/silent-log.ts";

const kind = "KnativeServing";
const name = "knative-serving";
const steps = { eligible: true, resolved: true };

function applied(waiting: readonly string[] = []): Outcome {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [] },
    readiness: { available: waiting.length === 0, message: waiting.join(", ") },
  };
}

function failed(reason: "ClusterBusy" | "ApplyFailed"): Outcome {
  return { kind: "failed", steps, error: new FleetError(reason, `${reason} it is`) };
}

let hub: MemoryHub;
let clock: FakeClock;
let installation: Installation;
let nexts: Next[];

beforeEach(() => {
  hub = new MemoryHub();
  clock = new FakeClock();
  nexts = [];
  const { metadata } = hub.edit(kind, name, serving());
  installation = new Installation(metadata.uid);
});

function stored() {
  const component = asComponent(hub.find(kind, name));
  if (component === undefined) throw new Error("There is no component");
  return component;
}

function dependencies() {
  const log = silentLog;
  const events = new EventRecorder({ client: new MemoryHub(), clock, log });
  return { hub, clock, log, events, metrics: metricsOf(), pollMs: 3_600_000 };
}

/** A queue whose work concludes with the outcome of that time. */
function looking(found: () => Outcome): WorkQueue {
  const deps = dependencies();
  const queue = new WorkQueue({
    work: async (_key, signal) => {
      const component = stored();
      const writer = openStatusWriter({ component, pace: installation.statusPace }, deps, signal);
      const next = await conclude(
        { component, installation, writer, outcome: found() },
        deps,
        signal,
      );
      nexts.push(next);
      return next;
    },
    onBug: (_key, error) => {
      throw error;
    },
    concurrency: 1,
    laneConcurrency: 1,
    slowMs: 500,
    clock,
    random: () => 0,
  });
  queue.start();
  return queue;
}

function ready(): string | undefined {
  const found = stored().status?.conditions?.find(({ type }) => type === "Ready");
  return `${found?.status} ${found?.reason ?? ""}`;
}

describe("a component that changes its state ten times a second, for ten seconds,", () => {
  test.each([
    { name: "a Deployment that flaps", one: applied(), other: applied(["a"]) },
    { name: "a cluster that fails in turns", one: failed("ClusterBusy"), other: applied() },
    {
      name: "two failures in turns",
      one: failed("ClusterBusy"),
      other: failed("ApplyFailed"),
    },
  ])("has its status written once a second and four times more: $name", async ({ one, other }) => {
    let now = one;
    await using queue = looking(() => now);
    for (let change = 0; change < 100; change += 1) {
      now = change % 2 === 0 ? one : other;
      queue.hasten("a", "one", 20);
      await clock.advance(100);
    }
    // Four at once, and then one a second until the tenth is over.
    expect(hub.requests).toBe(13);
    // The last word comes by itself.
    const { status } = stored();
    now = applied(["b"]);
    queue.hasten("a", "one", 20);
    await clock.advance(1_020);
    expect(stored().status).not.toEqual(status);
    expect(ready()).toBe("False NotReady");
    expect(hub.requests).toBeLessThanOrEqual(15);
  });
});

test("the transitions of an ordinary install are written at once", async () => {
  const course: readonly Outcome[] = [
    { kind: "working", steps },
    applied(["a"]),
    failed("ClusterBusy"),
    applied(),
  ];
  let now = course[0];
  await using queue = looking(() => now ?? applied());
  for (const outcome of course) {
    now = outcome;
    queue.hasten("a", "one", 0);
    await clock.advance(1);
  }
  expect(hub.requests).toBe(4);
  expect(ready()).toBe("True ");
});

test("messages that change all the time leave tokens for transitions", async () => {
  let left = 1_000;
  let now = applied(["1000 objects"]);
  await using queue = looking(() => now);
  while (left > 900) {
    left -= 1;
    now = applied([`${left} objects`]);
    queue.hasten("a", "one", 20);
    await clock.advance(100);
  }
  expect(hub.requests).toBeLessThanOrEqual(11);
  const before = hub.requests;
  now = applied();
  queue.hasten("a", "one", 20);
  await clock.advance(20);
  expect(hub.requests).toBe(before + 1);
  expect(ready()).toBe("True ");
});

test("failures stay a row while their status waits, and the next attempt comes when it may be written", async () => {
  let count = 0;
  await using queue = looking(() => {
    count += 1;
    return failed(count % 2 === 0 ? "ClusterBusy" : "ApplyFailed");
  });
  queue.add("a", "one");
  await clock.advance(60_000);
  expect(new Set(nexts.map((next) => next.kind))).toEqual(new Set(["backoff"]));
  // Nobody has asked for a look meanwhile: 5 ms doubling, and at most once a second for the status.
  expect(nexts.length).toBeLessThanOrEqual(25);
  expect(hub.requests).toBeLessThanOrEqual(nexts.length);
});

test("C11: an attempt that must not come back soon waits until its status may be written", async () => {
  const facts = { status: 429, reason: "", message: "", causes: [], isStatus: false };
  const cause = new ApiError({ ...facts, request: "GET /", retryAfterMs: 30_000 });
  const error = new FleetError("ClusterBusy", "GET / was answered 429", { cause });
  let now: Outcome = applied();
  await using queue = looking(() => now);
  for (let change = 0; change < 10; change += 1) {
    now = change % 2 === 0 ? applied() : applied(["a"]);
    queue.add("a", "one");
    await clock.advance(1);
  }
  now = { kind: "failed", steps, error };
  const before = nexts.length;
  queue.add("a", "one");
  await clock.advance(3_000);
  expect(stored().status?.conditions).toContainEqual(
    expect.objectContaining({ type: "InstallSucceeded", message: error.message }),
  );
  await clock.advance(26_000);
  expect(nexts.slice(before)).toEqual([{ kind: "backoff", leastMs: 30_000 }]);
});

test("an unchanged status needs no other attempt", async () => {
  await using queue = looking(() => applied());
  queue.add("a", "one");
  await clock.advance(1);
  queue.add("a", "one");
  await clock.advance(1);
  expect(nexts).toEqual([{ kind: "done" }, { kind: "done" }]);
});

test("no progress is written after an outcome that waits", async () => {
  const deps = dependencies();
  const { signal } = new AbortController();
  const concluded = async (outcome: Outcome, progress: readonly Outcome[]): Promise<Next> => {
    const component = stored();
    const writer = openStatusWriter({ component, pace: installation.statusPace }, deps, signal);
    for (const step of progress) writer.reportProgress(step, signal);
    return conclude({ component, installation, writer, outcome }, deps, signal);
  };
  await concluded(applied(["a"]), []);
  const progress = { done: 1, total: 150, waiting: [], failed: 0 };
  const next = await concluded(applied(["b"]), [{ kind: "working", steps, progress }]);
  expect(next).toEqual({ kind: "after", ms: 5_000 });
  await clock.advance(5_000);
  expect(hub.requests).toBe(1);
});

test("a status that is written as the process ends still gets its Event", async () => {
  const ending = new AbortController();
  const memory = new MemoryHub();
  const replace: MemoryHub["replace"] = async (...args) => {
    const written = await hub.replace(...args);
    ending.abort(new DOMException("The queue has stopped", "AbortError"));
    return written;
  };
  const client = { get: hub.get, replace };
  const events = new EventRecorder({ client: memory, clock, log: silentLog });
  const deps = { ...dependencies(), hub: client, events };
  const component = { ...stored(), status: { version: "1.22.0" } };
  const writer = openStatusWriter(
    { component, pace: installation.statusPace },
    deps,
    ending.signal,
  );
  writer.reportProgress({ kind: "working", steps }, ending.signal);
  await clock.advance(1);
  await writer.settle();
  expect(ending.signal.aborted).toBe(true);
  expect(memory.all("Event").map(({ reason }) => reason)).toEqual(["Installing"]);
});

test("the end does not wait for a hub that does not answer the last Event", async () => {
  const ending = new AbortController();
  const memory = new MemoryHub();
  memory.hang();
  const events = new EventRecorder({ client: memory, clock, log: silentLog });
  const deps = { ...dependencies(), events };
  const component = { ...stored(), status: { version: "1.22.0" } };
  const writer = openStatusWriter(
    { component, pace: installation.statusPace },
    deps,
    ending.signal,
  );
  writer.reportProgress({ kind: "working", steps }, ending.signal);
  await clock.advance(1);
  ending.abort(new DOMException("The queue has stopped", "AbortError"));
  let isOver = false;
  const over = writer.settle().then(() => (isOver = true));
  await clock.advance(299);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await over;
});
