import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { LinePace } from "../../access/log.ts";
import { systemClock } from "../../access/time/system-clock.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

test("of a profile that flaps ten times a second for an hour few lines are told, and how many were left out (T-22)", () => {
  const pace = new LinePace(systemClock);
  let told = 0;
  let leftOut = 0;
  for (let flip = 0; flip < 36_000; flip += 1) {
    const admitted = pace.admit("fleet/a");
    if (admitted !== undefined) {
      told += 1;
      leftOut += admitted;
    }
    vi.advanceTimersByTime(100);
  }
  expect(told).toBe(10 + 120 - 1);
  vi.advanceTimersByTime(30_000);
  expect(leftOut + (pace.admit("fleet/a") ?? 0)).toBe(36_000 - told);
});

test("what happens to others is told all the same", () => {
  const pace = new LinePace(systemClock, { burst: 2, intervalMs: 1_000 });
  expect(["a", "a", "a", "b"].map((name) => pace.admit(name))).toEqual([0, 0, undefined, 0]);
});
