import { expect, test } from "vitest";

import { deadlineMsOf } from "../../webhook/app.ts";

test.each([
  ["5s", 4_500],
  ["2.5s", 2_000],
  ["30s", 29_500],
  ["1m0s", 30_000],
  ["10m0s", 30_000],
  // What is left of the API server's own time, as Go writes it.
  ["873.094211ms", 373.094_211],
  ["1.000000001s", 500.000_001],
  ["999ms", 499],
  ["250µs", 100],
  ["0s", 100],
  ["-1s", 100],
])("T-74: a timeout of %s leaves %d ms", (timeout, ms) => {
  expect(deadlineMsOf(timeout)).toBeCloseTo(ms, 6);
});

test.each([undefined, "", "5", "5 s", "s", "5d", ["5s", "1s"], { a: "5s" }, "1".repeat(16_384)])(
  "T-74: a timeout of %j counts as none",
  (timeout) => {
    expect(deadlineMsOf(timeout)).toBe(9_500);
  },
);
