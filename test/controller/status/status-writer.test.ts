import { beforeEach, expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { asComponent } from "../../../controller/component-identity.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { StatusPace, StatusWriter } from "../../../controller/status/status-writer.ts";
import { serving } from "../../support/component.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";

const { signal } = new AbortController();
const steps = { eligible: true, resolved: true };

function working(done: number): Outcome {
  return { kind: "working", steps, progress: { done, total: 150, waiting: [], failed: 0 } };
}

function applied(waiting: readonly string[] = []): Outcome {
  const readiness = { available: waiting.length === 0, message: waiting.join(", ") };
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [] },
    readiness,
  };
}

let hub: MemoryHub;
let clock: FakeClock;
let pace: StatusPace;

beforeEach(() => {
  hub = new MemoryHub();
  clock = new FakeClock();
  pace = new StatusPace();
});

function storedComponent(): Component {
  const component = asComponent(hub.find("KnativeServing", "knative-serving"));
  if (component === undefined) throw new Error("There is no component");
  return component;
}

function reportOn(component: Component): StatusWriter {
  return new StatusWriter(component, { client: hub, clock, pace });
}

function newComponent(): Component {
  hub.edit("KnativeServing", "knative-serving", serving());
  return storedComponent();
}

function message(type: string): string | undefined {
  return storedComponent().status?.conditions?.find((entry) => entry.type === type)?.message;
}

function statusSaid(type: string): string | undefined {
  return storedComponent().status?.conditions?.find((entry) => entry.type === type)?.status;
}

test("first conditions and that the cluster answers are written at once; numbers after five seconds, only the latest", async () => {
  const writer = reportOn(newComponent());
  writer.reportProgress({ kind: "working", steps: { eligible: false, resolved: false } }, signal);
  await clock.advance(1);
  expect([hub.requests, statusSaid("TargetClusterResolved")]).toEqual([1, "Unknown"]);
  writer.reportProgress({ kind: "working", steps: { eligible: false, resolved: true } }, signal);
  await clock.advance(1);
  expect([hub.requests, statusSaid("TargetClusterResolved")]).toEqual([2, "True"]);
  for (const done of [0, 10, 20, 30]) writer.reportProgress(working(done), signal);
  await clock.advance(4_900);
  expect(hub.requests).toBe(2);
  await clock.advance(150);
  expect(hub.requests).toBe(3);
  expect(message("InstallSucceeded")).toBe("30 of 150 objects applied");
});

test("an attempt that ends before five seconds writes its outcome alone", async () => {
  const component = newComponent();
  await reportOn(component).finish({ kind: "working", steps }, signal);
  // It waited for a worker.
  await clock.advance(20_000);
  const writer = reportOn(storedComponent());
  for (let second = 0; second < 4; second += 1) {
    writer.reportProgress(working(second), signal);
    await clock.advance(1_000);
  }
  await writer.finish(applied(), signal);
  expect(hub.requests).toBe(2);
});

test("progress that makes a condition untrue is written at once, also while numbers wait", async () => {
  await reportOn(newComponent()).finish(applied(), signal);
  expect(statusSaid("Ready")).toBe("True");
  const next = reportOn(storedComponent());
  // A status that stays as it is waits for numbers.
  next.reportProgress({ kind: "working", steps }, signal);
  next.reportProgress(working(0), signal);
  await clock.advance(1);
  expect([hub.requests, statusSaid("Ready")]).toEqual([2, "Unknown"]);
  next.reportProgress(working(10), signal);
  await clock.advance(4_900);
  expect(hub.requests).toBe(2);
});

test("numbers of a long attempt are written half as often each time, and every 20 seconds at least", async () => {
  const writer = reportOn(newComponent());
  const written: number[] = [];
  for (let tick = 0; tick < 640; tick += 1) {
    const before = hub.requests;
    writer.reportProgress(working(tick), signal);
    await clock.advance(100);
    if (hub.requests > before) written.push(tick);
  }
  const pauses = written
    .slice(1)
    .map((tick, index) => Math.round((tick - (written[index] ?? 0)) / 10));
  expect(pauses).toEqual([5, 10, 20, 20]);
});

test("a slow hub gets one write at a time", async () => {
  const writer = reportOn(newComponent());
  const slow = new AbortController();
  hub.hang();
  for (const done of [0, 10, 20]) {
    writer.reportProgress(working(done), slow.signal);
    await clock.advance(2_000);
  }
  expect(hub.requests).toBe(1);
  hub.work();
  slow.abort();
  await clock.advance(0);
  await writer.finish(applied(), signal);
  expect(hub.requests).toBeLessThanOrEqual(3);
  expect(storedComponent().status?.version).toBe("1.23.0");
});

test("the outcome is written once after a running write, and no progress follows", async () => {
  const writer = reportOn(newComponent());
  writer.reportProgress(working(0), signal);
  await clock.advance(1);
  writer.reportProgress(working(10), signal);
  const { before, after } = await writer.finish(applied(), signal);
  expect(before?.version).toBeUndefined();
  expect(after?.version).toBe("1.23.0");
  await clock.advance(5_000);
  expect(hub.requests).toBe(2);
  expect(storedComponent().status).toEqual(after);
});

test("nothing is written when nothing changes", async () => {
  await reportOn(newComponent()).finish(applied(), signal);
  const { before, after } = await reportOn(storedComponent()).finish(applied(), signal);
  expect(hub.requests).toBe(1);
  expect(after).toBe(before);
});

test("after a conflict the newest object is written, and changes of others stay", async () => {
  const component = newComponent();
  hub.edit("KnativeServing", "knative-serving", { status: { annotations: { a: "b" } } });
  await reportOn(component).finish(applied(), signal);
  expect(storedComponent().status).toMatchObject({ version: "1.23.0", annotations: { a: "b" } });
});

test("the status has the generation of the attempt", async () => {
  const component = newComponent();
  hub.edit("KnativeServing", "knative-serving", {
    metadata: { ...component.metadata, generation: 2 },
  });
  await reportOn(component).finish(applied(), signal);
  expect(storedComponent().metadata.generation).toBe(2);
  expect(storedComponent().status?.observedGeneration).toBe(1);
});

test("a component that is gone or was created again gets no status", async () => {
  const component = newComponent();
  hub.drop("KnativeServing", "knative-serving");
  await reportOn(component).finish(applied(), signal);
  hub.edit("KnativeServing", "knative-serving", serving({ metadata: { uid: "another" } }));
  await reportOn(component).finish(applied(), signal);
  expect(storedComponent().status).toBeUndefined();
});

test("a changed message waits five seconds, a transition does not", async () => {
  await reportOn(newComponent()).finish(applied(["a", "b", "c"]), signal);
  await clock.advance(300);
  const next = reportOn(storedComponent());
  expect(next.postponedMs(applied(["a", "b"]))).toBe(4_700);
  expect(next.postponedMs(applied())).toBe(0);
});

test("onWritten is called for each write, in order", async () => {
  const told: string[] = [];
  const writer = new StatusWriter(newComponent(), {
    client: hub,
    clock,
    pace,
    onWritten: async ({ before, after, outcome }) => {
      await Promise.resolve();
      told.push(`${outcome.kind} ${String(before?.version)} ${String(after?.version)}`);
    },
  });
  writer.reportProgress(working(0), signal);
  await clock.advance(1);
  await writer.finish(applied(), signal);
  await writer.finish(applied(), signal);
  await writer.eventsRecorded();
  expect(told).toEqual(["working undefined undefined", "applied undefined 1.23.0"]);
});

test("after stopProgress no progress is written", async () => {
  const writer = reportOn(newComponent());
  writer.reportProgress(working(0), signal);
  await writer.stopProgress();
  await clock.advance(5_000);
  expect(hub.requests).toBe(0);
});

test("the error of a hub is thrown at the end, not during progress", async () => {
  const writer = reportOn(newComponent());
  hub.fail();
  writer.reportProgress(working(0), signal);
  await clock.advance(10);
  await expect(writer.finish(applied(), signal)).rejects.toMatchObject({ status: 500 });
});
