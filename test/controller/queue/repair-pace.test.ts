import { expect, test } from "vitest";

import { WorkQueue } from "../../../controller/queue/queue.ts";
import { RepairPace } from "../../../controller/queue/repair-pace.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { metricsOf } from "../../support/metrics.ts";

type Kind = "workload" | "job" | "object";

/** When, in ms, a component was looked at of which changes are told at these times, in the order of times. */
async function looksAt(...told: readonly (readonly [ms: number, kind: Kind])[]): Promise<number[]> {
  const clock = new FakeClock();
  const pace = new RepairPace();
  const looks: number[] = [];
  await using queue = new WorkQueue({
    work: () => {
      looks.push(clock.now());
      return Promise.resolve({ kind: "done" });
    },
    onBug: (_key, error) => expect.fail(String(error)),
    concurrency: 1,
    laneConcurrency: 1,
    slowMs: 500,
    clock,
    random: () => 0,
    observer: metricsOf(),
  });
  queue.start();
  for (const [ms, kind] of told) {
    await clock.advance(ms - clock.now());
    queue.hasten("a", "one", pace.delayMs({ kind }, clock.now()));
  }
  await clock.advance(10_000);
  return looks;
}

test("the end of a Job is looked at once, also when a slow cluster writes it in steps", async () => {
  expect(await looksAt([0, "job"], [60, "job"], [180, "job"], [240, "job"])).toEqual([250]);
});

test("a workload is looked at soon, also while a Job's end is waited for", async () => {
  expect(await looksAt([0, "workload"], [10, "workload"])).toEqual([20]);
  expect(await looksAt([0, "job"], [60, "workload"])).toEqual([80]);
});

test("drift is looked at soon, and then four times a second at most", async () => {
  const everyTenMs = Array.from({ length: 60 }, (_, index) => [index * 10, "object"] as const);
  expect(await looksAt(...everyTenMs)).toEqual([50, 300, 550, 800]);
});

test("a target that loses everything again and again is sent it four times at once, and then once in half a minute", () => {
  const pace = new RepairPace();
  const waits = [1, 2, 3, 4, 5, 6].map((attempt) => {
    const now = attempt * 1_000;
    pace.noteAttempt(now);
    pace.noteSent(now, 150);
    // Drift waits no less than an attempt that comes by time.
    expect(pace.delayMs({ kind: "workload" }, now)).toBe(Math.max(20, pace.restMs(now)));
    return pace.restMs(now);
  });
  expect(waits).toEqual([0, 0, 0, 1_000, 31_000, 61_000]);
});

test("attempts that send nothing follow 120 changes at once, and then one in a second", () => {
  const pace = new RepairPace();
  const waits = Array.from({ length: 122 }, () => {
    pace.noteAttempt(0);
    return pace.restMs(0);
  });
  expect([...new Set(waits)]).toEqual([0, 1_000, 2_000]);
});
