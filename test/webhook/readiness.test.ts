import { setTimeout } from "node:timers/promises";

import { expect, test } from "vitest";

import { systemClock } from "../../access/time/system-clock.ts";
import { slowSince, watchEventLoop } from "../../webhook/readiness.ts";
import { FakeClock } from "../support/fake-clock.ts";

test.each([
  [undefined, 100, undefined],
  [undefined, 501, 50_000],
  [40_000, 501, 40_000],
  [40_000, 499, undefined],
])("a loop that was slow since %s and is %s ms late is slow since %s", (before, p99Ms, since) => {
  expect(slowSince(before, { p99Ms, nowMs: 50_000 })).toBe(since);
});

test("a loop that has just begun to be watched is not slow", () => {
  using watch = watchEventLoop(systemClock);
  expect(watch.isSlow()).toBe(false);
});

test("a loop that stands still is slow when that has lasted for ten seconds", async () => {
  const clock = new FakeClock();
  using watch = watchEventLoop(clock);
  await setTimeout(50);
  // The loop really stands still; the measurement is Node's own.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
  await setTimeout(50);
  await clock.advance(1_000);
  clock.jump(9_999);
  expect(watch.isSlow()).toBe(false);
  clock.jump(1);
  expect(watch.isSlow()).toBe(true);
  // Nothing was late in the next second.
  await setTimeout(50);
  await clock.advance(1_000);
  expect(watch.isSlow()).toBe(false);
});
