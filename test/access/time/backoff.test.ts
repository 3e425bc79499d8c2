import { expect, test } from "vitest";

import { backoffMs } from "../../../access/time/backoff.ts";

const backoff = { firstMs: 100, longestMs: 1_000 };

test.each([
  { failures: 1, ms: 100 },
  { failures: 2, ms: 200 },
  { failures: 4, ms: 800 },
  { failures: 5, ms: 1_000 },
  { failures: 1_000_000, ms: 1_000 },
])("after $failures failures the pause is $ms ms", ({ failures, ms }) => {
  expect(backoffMs(backoff, failures)).toBe(ms);
});

test.each([
  { random: 0, ms: 1_000 },
  { random: 0.5, ms: 875 },
  { random: 1, ms: 750 },
])("a jitter of a quarter with random $random makes it $ms ms", ({ random, ms }) => {
  expect(backoffMs({ ...backoff, jitter: 1 / 4 }, 9, random)).toBe(ms);
});
