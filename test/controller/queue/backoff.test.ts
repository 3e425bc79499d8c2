import { expect, test } from "vitest";

import { backoffMs } from "../../../controller/queue/backoff.ts";

test.each([
  { failures: 1, random: 0, ms: 5 },
  { failures: 2, random: 0, ms: 10 },
  { failures: 11, random: 0, ms: 5_120 },
  { failures: 17, random: 0, ms: 300_000 },
  { failures: 1_000, random: 0, ms: 300_000 },
  { failures: 3, random: 1, ms: 10 },
])("after $failures failures with random $random it waits $ms ms", ({ failures, random, ms }) => {
  expect(backoffMs(failures, random)).toBe(ms);
});
