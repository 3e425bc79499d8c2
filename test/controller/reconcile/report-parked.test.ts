import { describe, expect, onTestFinished, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import { WorkQueue } from "../../../controller/queue/queue.ts";
import { nextOf } from "../../../controller/reconcile/report.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { FakeClock } from "../../support/fake-clock.ts";

type Applied = Extract<Outcome, { kind: "applied" }>;

const components = 200;
const pollMs = 10_000;
const minute = 60_000;
const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };
const trouble = { key, message: "Waiting for webhook policy.example.test" };

function applied({ changes, ...more }: Partial<Applied> = {}): Outcome {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [], ...changes },
    readiness: { available: true, message: "" },
    ...more,
  };
}

const noChanges = { applied: [], unchanged: 150, parked: [], failed: [] };
const unavailable = applied({ readiness: { available: false, message: "a" } });
const error = new FleetError("ReleaseNotFound", "There is no release 1.99.0");
const blocked: Outcome = { kind: "failed", steps: { eligible: false, resolved: false }, error };

/** Components that are all as `found` says, and whose status may always be written. */
function broken(found: () => Outcome, random = 0) {
  const clock = new FakeClock();
  const looks: number[] = [];
  const queue = new WorkQueue({
    work: () => {
      looks.push(clock.now());
      return Promise.resolve(nextOf(found(), pollMs));
    },
    onBug: (_key, bug) => expect.unreachable(String(bug)),
    concurrency: components,
    laneConcurrency: components,
    slowMs: minute,
    clock,
    random: () => random,
  });
  onTestFinished(() => queue[Symbol.asyncDispose]());
  queue.start();
  return { clock, queue, looks };
}

async function attemptsIn(ms: number, { clock, queue, looks }: ReturnType<typeof broken>) {
  for (let number = 0; number < components; number += 1) queue.add(`c-${number}`, "hub");
  await clock.advance(ms);
  return looks.length;
}

describe("two hundred components that nothing happens to cost seven attempts each in ten minutes, and one in five minutes after that:", () => {
  test.each<readonly [string, Outcome]>([
    ["Deployments that are not available", unavailable],
    [
      "workloads that may not be watched",
      applied({
        readiness: { available: true, message: "", unseen: "Watching deployments is not allowed" },
      }),
    ],
    ["objects that wait for a webhook", applied({ changes: { ...noChanges, parked: [trouble] } })],
    ["obsolete objects that linger", applied({ changes: { ...noChanges, lingering: [trouble] } })],
    ["a Job of which nothing is known", applied({ hasUnsureJobs: true })],
    ["a release that is not there", blocked],
  ])("%s", async (_, outcome) => {
    const all = broken(() => outcome);
    // At 0, 10, 20, 40, 80, 160 and 320 s.
    expect(await attemptsIn(10 * minute, all)).toBe(7 * components);
    // At 620 s, and each 300 s from then on.
    await all.clock.advance(50 * minute);
    expect(all.looks.length).toBe((7 + 10) * components);
  });
});

test("chance makes the pauses of the sweep up to a fifth longer", async () => {
  const all = broken(() => unavailable, 0.5);
  await attemptsIn(minute, all);
  expect(new Set(all.looks)).toEqual(new Set([0, 11_000, 23_100, 48_510]));
});

test("a Deployment that becomes available is seen at once, however long nothing had happened, and then nothing is looked at any more", async () => {
  let found = unavailable;
  const { clock, queue, looks } = broken(() => found);
  queue.add("c", "hub");
  await clock.advance(60 * minute);
  found = applied();
  const told = clock.now();
  queue.hasten("c", "hub", 20);
  await clock.advance(60 * minute);
  expect(looks.filter((at) => at >= told)).toEqual([told + 20]);
});

test("a change begins the sweep anew, because what else waits may come right now, too", async () => {
  const { clock, queue, looks } = broken(() => unavailable);
  queue.add("c", "hub");
  await clock.advance(60 * minute);
  const told = clock.now();
  queue.hasten("c", "hub", 20);
  await clock.advance(45_000);
  expect(looks.filter((at) => at >= told).map((at) => at - told)).toEqual([
    20, 10_020, 20_020, 40_020,
  ]);
});

test("a failure that ends begins the sweep anew", async () => {
  let found: Outcome = {
    kind: "failed",
    steps: { eligible: true, resolved: true },
    error: new FleetError("ClusterBusy", "busy"),
  };
  const { clock, queue, looks } = broken(() => found);
  queue.add("c", "hub");
  await clock.advance(10 * minute);
  found = unavailable;
  const before = looks.length;
  await clock.advance(10 * minute);
  const [first = 0, second = 0] = looks.slice(before);
  expect(second - first).toBe(pollMs);
});

test("a blocked component is not looked at within the interval for what happens on its cluster", async () => {
  const { clock, queue, looks } = broken(() => blocked);
  queue.add("c", "hub");
  await clock.advance(1_000);
  queue.hasten("c", "hub", 20);
  await clock.advance(pollMs - 1_001);
  expect(looks).toEqual([0]);
  await clock.advance(1);
  expect(looks).toEqual([0, pollMs]);
});

test("what has its time is looked at then, and does not wait for the sweep", () => {
  const parked = { ...noChanges, parked: [trouble] };
  expect(nextOf(applied({ changes: parked, unblockMs: 180_000 }), pollMs)).toEqual({
    kind: "sweep",
    firstMs: pollMs,
    mostMs: 180_000,
  });
  const conflicts = [{ key, managers: [], dueMs: 5_000 }];
  expect(nextOf(applied({ changes: { ...parked, conflicts } }), pollMs)).toMatchObject({
    mostMs: 5_000,
  });
  expect(
    nextOf(applied({ changes: { ...parked, parked: [{ ...trouble, askedMs: 30_000 }] } }), pollMs),
  ).toMatchObject({ leastMs: 30_000 });
});

test("objects that the server refuses are sent again after a back-off", () => {
  const failed = { ...noChanges, failed: [trouble] };
  expect(nextOf(applied({ changes: failed }), pollMs)).toEqual({ kind: "backoff" });
});
