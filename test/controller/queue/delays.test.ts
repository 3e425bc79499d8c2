import { expect, test } from "vitest";

import { backoffMs } from "../../../access/time/backoff.ts";
import { notBefore, queueBackoff } from "../../../controller/queue/delays.ts";

test("what comes back by itself may have to wait longer, and never waits less", () => {
  expect(notBefore({ kind: "after", ms: 10 }, 30)).toEqual({ kind: "after", ms: 10, leastMs: 30 });
  expect(notBefore({ kind: "backoff", leastMs: 40 }, 30)).toEqual({ kind: "backoff", leastMs: 40 });
  expect(notBefore({ kind: "backoff" }, 0)).toEqual({ kind: "backoff" });
  expect(notBefore({ kind: "change" }, 30)).toEqual({ kind: "change" });
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
