import { expect, test } from "vitest";

import { backoffMs } from "../../../access/time/backoff.ts";
import {
  changeDelayMs,
  notBefore,
  queueBackoff,
  untilAuditMs,
} from "../../../controller/queue/delays.ts";
import { WorkQueue } from "../../../controller/queue/queue.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { metricsOf } from "../../support/metrics.ts";

type Kind = Parameters<typeof changeDelayMs>[0]["kind"];

/** When, in ms, a component was looked at of which changes are told at these times, in the order of times. */
async function looksAt(...told: readonly (readonly [ms: number, kind: Kind])[]): Promise<number[]> {
  const clock = new FakeClock();
  const installation = { driftAt: -Infinity };
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
    queue.hasten("a", "one", changeDelayMs({ kind }, installation, clock.now()));
  }
  await clock.advance(10_000);
  return looks;
}

test("what comes back by itself may have to wait longer, and never waits less", () => {
  expect(notBefore({ kind: "after", ms: 10 }, 30)).toEqual({ kind: "after", ms: 10, leastMs: 30 });
  expect(notBefore({ kind: "backoff", leastMs: 40 }, 30)).toEqual({ kind: "backoff", leastMs: 40 });
  expect(notBefore({ kind: "backoff" }, 0)).toEqual({ kind: "backoff" });
  expect(notBefore({ kind: "change" }, 30)).toEqual({ kind: "change" });
});

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

const hours = 3_600_000;

test.each([
  { when: "first, at the earliest", isFirst: true, random: 0, wait: 3 },
  { when: "first, at the latest", isFirst: true, random: 1, wait: 6 },
  { when: "later, at the earliest", isFirst: false, random: 0, wait: 5.4 },
  { when: "later, at the latest", isFirst: false, random: 1, wait: 6.6 },
])("an audit every six hours comes $when, after $wait hours", ({ isFirst, random, wait }) => {
  const pace = { intervalMs: 6 * hours, random: () => random };
  expect(untilAuditMs(pace, { isFirst })).toBeCloseTo(wait * hours);
});

test.each([0, -1])("there is none with an interval of %i", (intervalMs) => {
  expect(untilAuditMs({ intervalMs, random: () => 0 }, { isFirst: true })).toBeUndefined();
});

test.each([
  { failures: 1, random: 0, ms: 5 },
  { failures: 2, random: 0, ms: 10 },
  { failures: 11, random: 0, ms: 5_120 },
  { failures: 17, random: 0, ms: 300_000 },
  { failures: 1_000, random: 0, ms: 300_000 },
  { failures: 3, random: 1, ms: 10 },
])("after $failures failures with random $random it waits $ms ms", ({ failures, random, ms }) => {
  expect(backoffMs(queueBackoff, failures, random)).toBe(ms);
});
