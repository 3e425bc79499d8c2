import { expect, test } from "vitest";

import { untilAuditMs } from "../../../controller/queue/audit-pace.ts";

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
