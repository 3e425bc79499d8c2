import { beforeEach, expect, test } from "vitest";

import { EventRecorder } from "../../controller/events.ts";
import { serving } from "../support/component.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { silentLog } from "../support/silent-log.ts";

const { signal } = new AbortController();
const ready = {
  type: "Normal",
  reason: "Ready",
  message: "All Deployments are available",
} as const;
const component = serving();

let hub: MemoryHub;
let clock: FakeClock;
let recorder: EventRecorder;

beforeEach(() => {
  hub = new MemoryHub();
  clock = new FakeClock();
  recorder = new EventRecorder({ client: hub, clock, log: silentLog });
});

test("an Event names its component and comes from where upstream's come from", async () => {
  await recorder.record(component, ready, signal);
  expect(hub.all("Event")).toEqual([
    expect.objectContaining({
      involvedObject: expect.objectContaining({
        kind: "KnativeServing",
        name: "knative-serving",
        uid: component.metadata.uid,
      }),
      source: { component: "knativeserving-controller" },
      type: "Normal",
      reason: "Ready",
      count: 1,
    }),
  ]);
});

test("what is said again within ten minutes is counted up", async () => {
  await recorder.record(component, ready, signal);
  await clock.advance(60_000);
  await recorder.record(component, ready, signal);
  expect(hub.all("Event")).toEqual([
    expect.objectContaining({ count: 2, lastTimestamp: "2026-01-01T00:01:00Z" }),
  ]);
});

test("what is said again much later is a new Event", async () => {
  await recorder.record(component, ready, signal);
  await clock.advance(600_000);
  await recorder.record(component, ready, signal);
  expect(hub.all("Event")).toHaveLength(2);
});

test("an Event that is gone is made anew", async () => {
  await recorder.record(component, ready, signal);
  const [event] = hub.all("Event");
  hub.drop("Event", event?.metadata.name ?? "");
  await recorder.record(component, ready, signal);
  expect(hub.all("Event")).toEqual([expect.objectContaining({ count: 1 })]);
});

test("a hub that refuses Events does not fail the work", async () => {
  hub.fail();
  await expect(recorder.record(component, ready, signal)).resolves.toBeUndefined();
});
