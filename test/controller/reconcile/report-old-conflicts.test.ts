import { expect, test } from "vitest";

import {
  type Conflict,
  type Conflicts,
  isInConflict,
  withRepair,
} from "../../../controller/apply/filters/conflicts.ts";
import { initialState, withReportedConflicts } from "../../../controller/apply/install-state.ts";
import { nextOf } from "../../../controller/reconcile/report.ts";
import { transitionEvents } from "../../../controller/status/component-events.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";

const now = new Date("2026-02-03T04:05:06Z");
const later = new Date("2026-02-03T05:00:00Z");
const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };
const argo = { manager: "argocd-controller", fields: ["data.x"] };

function applied(conflicts: readonly Conflict[], unsureMs?: number): Outcome {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [], conflicts },
    readiness: { available: true, message: "" },
    ...(unsureMs === undefined ? {} : { unsureMs }),
  };
}

const before = statusOf(serving(), applied([{ key, managers: [argo], dueMs: 5_000 }]), now);
const told = before.conditions?.find(({ type }) => type === "Contested")?.message ?? "";

test("a contest is not called over by a process that has looked for less than a minute", () => {
  const outcome = applied([], 40_000);
  const after = statusOf(serving({ status: before }), outcome, later);
  expect(after).toEqual(before);
  expect(transitionEvents(before, after, outcome)).toEqual([]);
  expect(nextOf(outcome, 600_000)).toEqual({ kind: "after", ms: 40_000 });
});

test("a contest that goes on after a restart is no news", () => {
  const outcome = applied([{ key, managers: [], dueMs: 5_000 }], 40_000);
  const after = statusOf(serving({ status: before }), outcome, later);
  expect(transitionEvents(before, after, outcome)).toEqual([]);
});

test("a contest that begins after a restart is told", () => {
  const outcome = applied([{ key, managers: [argo], dueMs: 5_000 }], 40_000);
  const after = statusOf(serving(), outcome, later);
  expect(transitionEvents(undefined, after, outcome).map(({ reason }) => reason)).toContain(
    "Contested",
  );
});

test("a contest is over when nobody was seen to go on with it for a minute", () => {
  const outcome = applied([]);
  const after = statusOf(serving({ status: before }), outcome, later);
  const reasons = transitionEvents(before, after, outcome).map(({ reason }) => reason);
  expect(reasons).toEqual(["ContestOver"]);
  expect(nextOf(outcome, 600_000)).toEqual({ kind: "done" });
});

function isContested(conflicts: Conflicts): boolean {
  return isInConflict(withRepair(conflicts, key, 1), key);
}

test("a memory that begins anew goes on with conflicts that were told of, also over what the installation stands on", () => {
  const state = withReportedConflicts(initialState, told, 0);
  expect(isContested(state.conflicts)).toBe(true);
  expect(isContested(state.anchorConflicts)).toBe(true);
  expect(isContested(initialState.conflicts)).toBe(false);
});
