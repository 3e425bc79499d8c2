import { expect, test } from "vitest";

import type { ComponentStatus } from "../../../api/component.ts";
import { nextOf } from "../../../controller/reconcile/report.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";

const now = new Date("2026-02-03T04:05:06Z");
const type = "DeploymentsAvailable";
const unseen = "Watching deployments is not allowed";

function applied(readiness: Extract<Outcome, { kind: "applied" }>["readiness"]): Outcome {
  const changes = { applied: [], unchanged: 150, parked: [], failed: [] };
  return { kind: "applied", version: "1.23.0", paths: [], changes, readiness };
}

function availability({ conditions = [] }: ComponentStatus): object {
  const found = conditions.find((condition) => condition.type === type);
  return { ...found, lastTransitionTime: undefined };
}

test("Deployments that may not be watched are not called unavailable, nor the installation complete", () => {
  const running = serving({
    status: statusOf(serving(), applied({ available: true, message: "" }), now),
  });
  const blind = applied({ available: true, message: "", unseen });
  const said = { type, status: "Unknown", reason: "NotWatched", message: unseen };
  expect(availability(statusOf(running, blind, now))).toEqual(said);
  expect(statusOf(serving(), blind, now).version).toBeUndefined();
  expect(nextOf(blind, 5_000)).toEqual({ kind: "sweep", firstMs: 5_000 });
});

test("what is seen of others is said first", () => {
  const message = "1 of 9 not available: webhook (missing)";
  const outcome = applied({ available: false, message, unseen });
  const said = { type, status: "False", reason: "NotReady", message };
  expect(availability(statusOf(serving(), outcome, now))).toEqual(said);
});
