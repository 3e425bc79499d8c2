import { beforeEach, describe, expect, test, vi } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import { lead, type LeaderOptions, type Leadership } from "../../../controller/leader/leader.ts";
import { defaultLeaseTimes } from "../../../controller/leader/lease.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";

const { signal } = new AbortController();
let clock: FakeClock;
let hub: MemoryHub;

beforeEach(() => {
  clock = new FakeClock();
  hub = new MemoryHub();
});

function leading(
  identity: string,
  {
    onTrouble = () => undefined,
    mayHaveLeader = () => false,
    reconnect = () => undefined,
    doOthersWork,
  }: Partial<
    Pick<LeaderOptions, "onTrouble" | "mayHaveLeader" | "reconnect" | "doOthersWork">
  > = {},
): Promise<Leadership> {
  const options = {
    onTrouble,
    mayHaveLeader,
    reconnect,
    ...(doOthersWork === undefined ? {} : { doOthersWork }),
    client: hub,
    namespace: "knfleet-system",
    name: "knfleet-controller",
    identity,
    times: defaultLeaseTimes,
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

test("one that may not list Leases leads, because replicas that share the fleet have that right", async () => {
  const facts = { status: 403, reason: "Forbidden", message: "no", causes: [], isStatus: true };
  const refusal = new ApiError({ ...facts, request: "GET /leases" });
  const told: boolean[] = [];
  const leadership = await leading("one", {
    doOthersWork: () => Promise.reject(refusal),
    onTrouble: (isInTrouble) => told.push(isInTrouble),
  });
  expect(leadership.mayWrite()).toBe(true);
  expect(told).not.toContain(true);
});

test("one that cannot ask for the other Leases waits until it can", async () => {
  let isDown = true;
  const doOthersWork = (): Promise<boolean> =>
    isDown ? Promise.reject(new Error("no answer")) : Promise.resolve(false);
  let leadership: Leadership | undefined;
  void leading("one", { doOthersWork }).then((found) => (leadership = found));
  await clock.advance(10_000);
  expect(leadership).toBeUndefined();
  isDown = false;
  await clock.advance(10_000);
  expect(leadership?.mayWrite()).toBe(true);
});

test("a Lease that cannot be had is told as trouble, and so is its end", async () => {
  const told: boolean[] = [];
  hub.fail();
  const waiting = leading("one", { onTrouble: (isInTrouble) => told.push(isInTrouble) });
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
  await clock.advance(10_000);
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

test("a leader whose renewal hangs sends another one over another connection, in time", async () => {
  const leadership = await leading("one", { reconnect: () => hub.work() });
  hub.hang();
  await clock.advance(60_000);
  expect(leadership.mayWrite()).toBe(true);
  expect(leadership.lost.aborted).toBe(false);
});

test("a leader whose renewal is refused keeps its pace and its connection", async () => {
  let connections = 1;
  await leading("one", { reconnect: () => (connections += 1) });
  await clock.advance(1_000);
  hub.fail();
  const before = hub.requests;
  await clock.advance(8_000);
  expect(hub.requests - before).toBe(4);
  expect(connections).toBe(1);
});

test("a process whose question for the Lease hangs asks again over another connection", async () => {
  hub.hang();
  const waiting = leading("one", { reconnect: () => hub.work() });
  await clock.advance(12_500);
  expect((await waiting).mayWrite()).toBe(true);
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

test("a leader whose Lease is emptied takes it again", async () => {
  const leadership = await leading("one");
  const before = lease();
  hub.edit("Lease", "knfleet-controller", { spec: { ...before, holderIdentity: "" } });
  await clock.advance(4_000);
  expect(leadership.mayWrite()).toBe(true);
  expect(lease()).toMatchObject({ holderIdentity: "one" });
});

test("a leader whose Lease another one had and let go again is told at once", async () => {
  const leadership = await leading("one");
  const released = { holderIdentity: "", leaseDurationSeconds: 1 };
  hub.edit("Lease", "knfleet-controller", { spec: released });
  await clock.advance(2_000);
  expect(leadership.lost.aborted).toBe(true);
});

test("a leader that finds another one's Lease in place of its own is told by its next renewal", async () => {
  const leadership = await leading("one");
  hub.drop("Lease", "knfleet-controller");
  hub.edit("Lease", "knfleet-controller", { spec: { holderIdentity: "two" } });
  await clock.advance(2_000);
  expect(leadership.lost.aborted).toBe(true);
});

/** What somebody may do to the Lease while it is held. */
const interventions: readonly (readonly [string, () => void])[] = [
  ["deleted", () => hub.drop("Lease", "knfleet-controller")],
  [
    "emptied",
    () => {
      const spec = { ...lease(), holderIdentity: "" };
      hub.edit("Lease", "knfleet-controller", { spec });
    },
  ],
  ["without a spec", () => void hub.edit("Lease", "knfleet-controller", { spec: undefined })],
  [
    "shortened",
    () => {
      const spec = { ...lease(), leaseDurationSeconds: 1 };
      hub.edit("Lease", "knfleet-controller", { spec });
    },
  ],
];

describe.each(interventions)("a Lease that is %s while it is held", (_, intervene) => {
  test("is still its holder's, and never do two lead", async () => {
    const first = await leading("one");
    let second: Leadership | undefined;
    void leading("two").then((leadership) => (second = leadership));
    await clock.advance(5_500);
    intervene();
    for (let passed = 0; passed < 60_000; passed += 100) {
      await clock.advance(100);
      expect(first.mayWrite() && second?.mayWrite() === true).toBe(false);
    }
    expect(first.mayWrite()).toBe(true);
    expect(lease()).toMatchObject({ holderIdentity: "one", leaseDurationSeconds: 15 });
  });

  test("is another's only when a holder that cannot renew it has given up", async () => {
    const first = await leading("one");
    let second: Leadership | undefined;
    void leading("two").then((leadership) => (second = leadership));
    await clock.advance(5_500);
    hub.failFor("one");
    intervene();
    for (let passed = 0; passed < 10_000; passed += 100) {
      expect(first.mayWrite() && second?.mayWrite() === true).toBe(false);
      await clock.advance(100);
    }
    expect(first.mayWrite()).toBe(false);
    await clock.advance(10_000);
    expect(second?.mayWrite()).toBe(true);
  });
});

test("a process that finds no Lease where somebody has worked lets a leader's time pass first", async () => {
  let second: Leadership | undefined;
  void leading("two", { mayHaveLeader: () => true }).then((leadership) => (second = leadership));
  await clock.advance(15_000);
  expect(second).toBeUndefined();
  await clock.advance(2_000);
  expect(second?.mayWrite()).toBe(true);
});
