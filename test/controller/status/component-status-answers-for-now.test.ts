import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { ComponentStatus } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { nextOf } from "../../../controller/reconcile/report.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { showsRemovalFailure } from "../../../controller/status/progress.ts";
import { serving } from "../../support/component.ts";

const now = new Date("2026-02-03T04:05:06Z");
const steps = { eligible: true, resolved: true };
const going = { deletionTimestamp: "2026-02-03T04:00:00Z" };
const refused = failed(new FleetError("ApplyFailed", "No"));
const removing: Outcome = { kind: "removing", steps, remaining: { left: 34, total: 150 } };
const complete: Outcome = {
  kind: "applied",
  version: "1.23.0",
  paths: [],
  changes: { applied: [], unchanged: 150, parked: [], failed: [] },
  readiness: { available: true, message: "" },
};

/** Of a cluster that has no time, and may say for how long. */
function forNow(retryAfterMs?: number): FleetError {
  const facts = { status: 429, reason: "", message: "", causes: [], isStatus: false };
  const asked = retryAfterMs === undefined ? {} : { retryAfterMs };
  const cause = new ApiError({ ...facts, ...asked, request: "GET /" });
  return new FleetError("ClusterBusy", "The hub: GET / was answered 429", { cause });
}

function failed(error: FleetError): Outcome {
  return { kind: "failed", steps, error };
}

/** The status after some outcomes in a row. */
function after(metadata: object, ...outcomes: readonly Outcome[]): ComponentStatus {
  let status: ComponentStatus = {};
  for (const outcome of outcomes) status = statusOf(serving({ metadata, status }), outcome, now);
  return status;
}

function linesOf({ conditions = [] }: ComponentStatus): readonly string[] {
  return conditions.map(
    ({ type, status, reason, message }) => `${type}=${status} | ${reason} | ${message}`,
  );
}

test.each([
  { name: "that is new", before: [] },
  { name: "that is complete", before: [complete] },
  { name: "that was refused", before: [refused] },
])("C11: of a component $name an answer for now makes nothing False", ({ before }) => {
  const words = "Unknown | Installing | The hub: GET / was answered 429";
  expect(linesOf(after({}, ...before, failed(forNow())))).toEqual(
    expect.arrayContaining([`InstallSucceeded=${words}`, `Ready=${words}`]),
  );
});

test("C11: an answer for now makes no removal a failed one", () => {
  expect(linesOf(after(going, complete, failed(forNow())))).toEqual(
    expect.arrayContaining([
      "DeploymentsAvailable=Unknown | Finalizing | Removing from the hub",
      "Ready=Unknown | Finalizing | The hub: GET / was answered 429",
    ]),
  );
});

const silent = failed(new FleetError("SpokeUnreachable", "Silent"));
test.each([
  { name: "has not begun", outcomes: [complete], says: false },
  { name: "goes on", outcomes: [complete, removing], says: false },
  { name: "failed", outcomes: [removing, refused], says: true },
  { name: "C11: has to be patient", outcomes: [removing, failed(forNow())], says: true },
  { name: "lost its cluster", outcomes: [removing, silent], says: false },
])("what keeps a removal is said of one that $name: $says", ({ outcomes, says }) => {
  expect(showsRemovalFailure(after(going, ...outcomes).conditions)).toBe(says);
});

test("C11: the attempt after an answer that asks for patience is put off as long, a minute at most", () => {
  const backoff = { kind: "backoff" };
  expect(nextOf(failed(forNow()), 1_000)).toEqual(backoff);
  expect(nextOf(failed(forNow(20_000)), 1_000)).toEqual({ ...backoff, leastMs: 20_000 });
  expect(nextOf(failed(forNow(120_000)), 1_000)).toEqual({ ...backoff, leastMs: 60_000 });
  const removal = { ...failed(forNow(20_000)), isRemoval: true };
  expect(nextOf(removal, 1_000)).toEqual({ ...backoff, mostMs: 60_000, leastMs: 20_000 });
});

test("C11: what a server has no time to delete is not asked for again before it has", () => {
  const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };
  const lingering = [
    { key, message: "Obsolete", askedMs: 30_000 },
    { key, message: "Obsolete" },
  ];
  const outcome = { ...complete, changes: { ...complete.changes, lingering } };
  expect(nextOf(outcome, 10_000)).toEqual({ kind: "sweep", firstMs: 10_000, leastMs: 30_000 });
});
