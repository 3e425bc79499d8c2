import { expect, test } from "vitest";

import { AuditTimer, untilAuditMs } from "../../../controller/queue/audit-timer.ts";

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

test("an audit is due at its time and not at the start, and sets the time of the next one", () => {
  const pace = { intervalMs: 6 * hours, random: () => 0 };
  const timer = new AuditTimer();
  expect([timer.restMs(0), timer.takeDue(pace, 0), timer.restMs(0)]).toEqual([
    undefined,
    false,
    3 * hours,
  ]);
  expect(timer.takeDue(pace, 3 * hours - 1)).toBe(false);
  expect(timer.takeDue(pace, 3 * hours)).toBe(true);
  expect(timer.restMs(3 * hours)).toBe(5.4 * hours);
  expect(timer.restMs(9 * hours)).toBe(0);
});

test("a timer waits a day at the longest, and not at all without audits", () => {
  const timer = new AuditTimer();
  expect(timer.takeDue({ intervalMs: 0, random: () => 0 }, 0)).toBe(false);
  expect(timer.takeDue({ intervalMs: 0, random: () => 0 }, 0)).toBe(false);
  expect(timer.restMs(0)).toBeUndefined();
  timer.takeDue({ intervalMs: 1_000 * hours, random: () => 0 }, 0);
  expect(timer.restMs(0)).toBe(24 * hours);
});
