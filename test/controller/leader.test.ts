import { beforeEach, expect, test, vi } from "vitest";

import { lead, type Leadership } from "../../controller/leader.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { silentLog } from "../support/silent-log.ts";

const { signal } = new AbortController();
let clock: FakeClock;
let hub: MemoryHub;

beforeEach(() => {
  clock = new FakeClock();
  hub = new MemoryHub();
});

function leading(
  identity: string,
  onTrouble: (isInTrouble: boolean) => void = () => undefined,
): Promise<Leadership> {
  const options = {
    onTrouble,
    client: hub,
    namespace: "knfleet-system",
    name: "knfleet-controller",
    identity,
  };
  return lead({ ...options, clock, log: silentLog }, signal);
}

function lease(): Readonly<Record<string, unknown>> {
  const object = hub.find("Lease", "knfleet-controller");
  return { ...Object(object?.["spec"]) };
}

test("the first one creates the Lease and leads", async () => {
  const leadership = await leading("one");
  expect(leadership.mayWrite()).toBe(true);
  expect(lease()).toMatchObject({
    holderIdentity: "one",
    leaseDurationSeconds: 15,
    leaseTransitions: 0,
  });
});

test("a Lease that cannot be had is told as trouble, and so is its end", async () => {
  const told: boolean[] = [];
  hub.fail();
  const waiting = leading("one", (isInTrouble) => told.push(isInTrouble));
  await clock.advance(3_000);
  expect(told).toEqual([true, true]);
  hub.work();
  await clock.advance(2_000);
  expect((await waiting).mayWrite()).toBe(true);
  expect(told).toEqual([true, true, false]);
});

test("a leader that renews keeps others out", async () => {
  const first = await leading("one");
  let second: Leadership | undefined;
  void leading("two").then((leadership) => (second = leadership));
  await clock.advance(120_000);
  expect(first.mayWrite()).toBe(true);
  expect(second).toBeUndefined();
});

test("a leader that stops releases the Lease, and the next one takes it at once", async () => {
  const first = await leading("one");
  let second: Leadership | undefined;
  void leading("two").then((leadership) => (second = leadership));
  await clock.advance(5_000);
  const releasing = first[Symbol.asyncDispose]();
  expect(first.mayWrite()).toBe(false);
  await releasing;
  // No time passes: it is told, and does not have to ask.
  await vi.waitFor(() => expect(second?.mayWrite()).toBe(true), 30_000);
  expect(lease()).toMatchObject({ holderIdentity: "two", leaseTransitions: 1 });
});

test.each(["fail", "hang"] as const)(
  "a leader whose renewals %s may not write after 10 s, and is told at that moment (C19)",
  async (how) => {
    const leadership = await leading("one");
    hub[how]();
    await clock.advance(9_999);
    expect(leadership.mayWrite()).toBe(true);
    expect(leadership.lost.aborted).toBe(false);
    await clock.advance(1);
    expect(leadership.mayWrite()).toBe(false);
    expect(leadership.lost.aborted).toBe(true);
  },
);

test("a leader that stops during a renewal releases the Lease all the same", async () => {
  const first = await leading("one");
  await clock.advance(1_999);
  hub.hang();
  await clock.advance(1);
  const releasing = first[Symbol.asyncDispose]();
  hub.work();
  await releasing;
  expect(lease()).toMatchObject({ holderIdentity: "" });
});

test("a leader that stops does not release the Lease of another", async () => {
  const first = await leading("one");
  hub.edit("Lease", "knfleet-controller", { spec: { holderIdentity: "thief" } });
  await first[Symbol.asyncDispose]();
  expect(lease()).toMatchObject({ holderIdentity: "thief" });
});

test("a leader that was paused may not write when it wakes, before any request (C18)", async () => {
  const leadership = await leading("one");
  const requests = hub.requests;
  clock.jump(30_000);
  expect(leadership.mayWrite()).toBe(false);
  await clock.advance(0);
  expect(leadership.lost.aborted).toBe(true);
  expect(hub.requests).toBe(requests);
});

test("nobody takes the Lease earlier than 15 s after its last renewal was seen", async () => {
  const first = await leading("one");
  let second: Leadership | undefined;
  void leading("two").then((leadership) => (second = leadership));
  await clock.advance(4_000);
  hub.failFor("one");
  await clock.advance(10_000);
  expect(first.mayWrite()).toBe(false);
  expect(second).toBeUndefined();
  await clock.advance(8_000);
  expect(second?.mayWrite()).toBe(true);
});

test("a leader keeps on after one failed renewal", async () => {
  const leadership = await leading("one");
  hub.fail();
  await clock.advance(5_000);
  hub.work();
  await clock.advance(60_000);
  expect(leadership.mayWrite()).toBe(true);
  expect(leadership.lost.aborted).toBe(false);
});

test("a leader whose Lease is taken by force is told at once", async () => {
  const leadership = await leading("one");
  hub.edit("Lease", "knfleet-controller", {
    spec: { holderIdentity: "thief", leaseDurationSeconds: 15 },
  });
  await clock.advance(4_000);
  expect(leadership.lost.aborted).toBe(true);
});

test("a leader whose Lease is deleted makes it again", async () => {
  const leadership = await leading("one");
  hub.drop("Lease", "knfleet-controller");
  await clock.advance(4_000);
  expect(leadership.mayWrite()).toBe(true);
  expect(lease()).toMatchObject({ holderIdentity: "one" });
});
