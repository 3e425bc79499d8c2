import { beforeEach, expect, test, vi } from "vitest";

import { lead, type Leadership } from "../../../controller/leader/leader.ts";
import { defaultLeaseTimes, type LeaseTimes, pauseMsOf } from "../../../controller/leader/lease.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";

const times = { durationMs: 2_500, renewDeadlineMs: 2_000, retryPeriodMs: 400 };
let clock: FakeClock;
let hub: MemoryHub;

beforeEach(() => {
  clock = new FakeClock();
  hub = new MemoryHub();
});

function leading(identity: string, own: LeaseTimes = times): Promise<Leadership> {
  const lease = { namespace: "knfleet-system", name: "knfleet-controller", identity };
  const options = { ...lease, client: hub, times: own, clock, log: silentLog };
  return lead(options, new AbortController().signal);
}

function spec(): object {
  return { ...Object(hub.find("Lease", "knfleet-controller")?.["spec"]) };
}

test("the Lease says its duration in whole seconds, never less, and is renewed at its pace", async () => {
  await leading("one");
  const first = spec();
  expect(first).toMatchObject({ leaseDurationSeconds: 3 });
  await clock.advance(399);
  expect(spec()).toEqual(first);
  await clock.advance(1);
  expect(spec()).not.toEqual(first);
});

test("a leader is lost at its deadline", async () => {
  const leadership = await leading("one");
  hub.failFor("one");
  await clock.advance(1_999);
  expect(leadership.mayWrite()).toBe(true);
  await clock.advance(1);
  expect(leadership.lost.aborted).toBe(true);
});

test("another replica takes the Lease after its duration", async () => {
  await leading("one");
  hub.failFor("one");
  let second: Leadership | undefined;
  void leading("two").then((leadership) => (second = leadership));
  await clock.advance(2_900);
  expect(second).toBeUndefined();
  await clock.advance(1_000);
  expect(second?.mayWrite()).toBe(true);
});

test("another replica with a shorter duration waits for that of the Lease", async () => {
  await leading("one", defaultLeaseTimes);
  hub.failFor("one");
  let second: Leadership | undefined;
  void leading("two").then((leadership) => (second = leadership));
  await clock.advance(14_900);
  expect(second).toBeUndefined();
  await clock.advance(1_000);
  expect(second?.mayWrite()).toBe(true);
});

test("of a Lease that says that it is held for a day, a minute is believed", async () => {
  const forged = { holderIdentity: "forged", leaseDurationSeconds: 86_400 };
  hub.edit("Lease", "knfleet-controller", { spec: forged });
  let second: Leadership | undefined;
  void leading("two").then((leadership) => (second = leadership));
  await clock.advance(59_900);
  expect(second).toBeUndefined();
  await clock.advance(1_000);
  expect(second?.mayWrite()).toBe(true);
});

test("replicas that wait for the Lease do not all ask at once, and each within its retry period", async () => {
  const pauses = Array.from({ length: 50 }, () => pauseMsOf(times, clock));
  expect(new Set(pauses).size).toBeGreaterThan(40);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(300);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(400);
  await leading("one");
  const chance = vi.spyOn(Math, "random");
  const waiting = [leading("two"), leading("three")];
  await clock.advance(4_000);
  // Each pause of each of them is drawn anew.
  expect(chance.mock.calls.length).toBeGreaterThanOrEqual(20);
  hub.failFor("one");
  await clock.advance(8_000);
  await Promise.race(waiting);
  chance.mockRestore();
});
