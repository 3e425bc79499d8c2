import { expect, test } from "vitest";

import { conditionOf, readyOf, withCondition } from "../../api/conditions.ts";
import { lieIn, lyingText } from "../support/lying-text.ts";

const now = new Date("2026-11-29T10:00:00Z");
const later = new Date("2026-11-29T11:00:00Z");
const lying = {
  type: "InstallSucceeded",
  status: "False",
  reason: `Apply\u001b[31m${lyingText}`,
  message: `The server said ${lyingText}`,
} as const;

test("a condition is plain and short, whatever a cluster or a plugin said", () => {
  const conditions = withCondition([], lying, now);
  const { reason = "", message = "" } = conditionOf(conditions, lying.type) ?? {};
  expect(message).toMatch(/^The server said red over written/);
  expect(lieIn(message)).toEqual([]);
  expect(message.length).toBeLessThanOrEqual(4_096);
  expect(reason).toBe("Unknown");
  expect(readyOf(conditions)).toEqual({ status: "False", reason, message });
});

test("a lie that is told again changes nothing", () => {
  const once = withCondition([], lying, now);
  expect(withCondition(once, lying, later)).toEqual(once);
});

test("what is plain stays as it is, and what says nothing says nothing", () => {
  const plain = { type: "Ready", status: "False", reason: "ApplyFailed", message: "Für a: b" };
  const entry = { ...plain, status: "False" } as const;
  expect(withCondition([], entry, now)).toEqual([
    { ...entry, lastTransitionTime: "2026-11-29T10:00:00Z" },
  ]);
  const empty = { type: "Ready", status: "True", reason: "", message: "" } as const;
  expect(withCondition([], empty, now)).toMatchObject([{ reason: "", message: "" }]);
  expect(withCondition([], { type: "Ready", status: "True" }, now)).toEqual([
    { type: "Ready", status: "True", lastTransitionTime: "2026-11-29T10:00:00Z" },
  ]);
});

test("a condition is since when it has its status, whatever reason and message it had meanwhile", () => {
  const begun = { type: "Ready", status: "False", reason: "A", message: "1 of 9" } as const;
  const once = withCondition([], begun, now);
  const after = withCondition(once, { ...begun, reason: "B", message: "2 of 9" }, later);
  expect(after).toEqual([
    { ...begun, reason: "B", message: "2 of 9", lastTransitionTime: "2026-11-29T10:00:00Z" },
  ]);
  expect(withCondition(after, { type: "Ready", status: "True" }, later)).toEqual([
    { type: "Ready", status: "True", lastTransitionTime: "2026-11-29T11:00:00Z" },
  ]);
});
