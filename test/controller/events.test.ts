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

test("an Event on a component with a long name has a name that an Event can have", async () => {
  const name = `${"a".repeat(198)}-.${"b".repeat(20)}`;
  await recorder.record(serving({ metadata: { name } }), ready, signal);
  const [event] = hub.all("Event");
  expect(event?.metadata.name).toMatch(/^a{198}\.[0-9a-f]{16}$/);
});

test("what is said again is counted up", async () => {
  await recorder.record(component, ready, signal);
  await clock.advance(60_000);
  await recorder.record(component, ready, signal);
  expect(hub.all("Event")).toEqual([
    expect.objectContaining({ count: 2, lastTimestamp: "2026-01-01T00:01:00Z" }),
  ]);
});

test("what another process said before is counted up, too", async () => {
  await recorder.record(component, ready, signal);
  await recorder.record(component, ready, signal);
  const second = new EventRecorder({ client: hub, clock, log: silentLog });
  await second.record(component, ready, signal);
  await second.record(component, ready, signal);
  expect(hub.all("Event")).toEqual([expect.objectContaining({ count: 4 })]);
});

test("another component of the same name has Events of its own", async () => {
  await recorder.record(component, ready, signal);
  await recorder.record(serving({ metadata: { uid: "another" } }), ready, signal);
  expect(hub.all("Event")).toHaveLength(2);
});

test("messages that never end are one Event with the latest of them", async () => {
  for (let count = 0; count < 15; count += 1) {
    await recorder.record(component, { ...ready, message: `Number ${count}` }, signal);
  }
  const events = hub.all("Event");
  expect(events).toHaveLength(11);
  expect(events.at(-1)).toMatchObject({
    count: 5,
    message: "(combined from similar events): Number 14",
  });
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
