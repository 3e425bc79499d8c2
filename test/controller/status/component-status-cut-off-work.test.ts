import { expect, test } from "vitest";

import type { ComponentStatus } from "../../../api/component.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";

const now = new Date("2026-02-03T04:05:06Z");
const later = new Date("2026-02-03T05:00:00Z");
const cutOff: Outcome = { kind: "working", steps: { eligible: false, resolved: false } };

const halfway: Outcome = {
  kind: "working",
  steps: { eligible: true, resolved: true },
  progress: { done: 80, total: 150, waiting: [], failed: 0 },
};

const applied: Outcome = {
  kind: "applied",
  version: "1.23.0",
  paths: [],
  changes: { applied: [], unchanged: 150, parked: [], failed: [] },
  readiness: { available: true, message: "" },
};

/** The status after an outcome, and after the work on generation 2 that followed was cut off. */
function aroundCut(outcome: Outcome): readonly [ComponentStatus, ComponentStatus] {
  const status = statusOf(serving(), outcome, now);
  const changed = serving({ metadata: { generation: 2 }, status });
  return [status, statusOf(changed, cutOff, later)];
}

test("work that was cut off before it sent anything does not call a new generation observed, which is not ready yet", () => {
  const [before, after] = aroundCut(applied);
  expect(after).toEqual(before);
});

test("work that was cut off in the middle leaves what was said of it", () => {
  const [before, after] = aroundCut(halfway);
  expect(after).toEqual(before);
});
