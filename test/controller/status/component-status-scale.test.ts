import { expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";
import { eventsAfter } from "../../support/events-after.ts";

const now = new Date("2026-02-03T04:05:06Z");
type Readiness = Extract<Outcome, { kind: "applied" }>["readiness"];

function applied(readiness: Partial<Readiness> = {}): Outcome {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [] },
    readiness: { available: true, message: "", stuck: [], ...readiness },
  };
}

const scaled = applied({ scaledToZero: ["activator", "autoscaler"] });
const rolling = applied({ available: false, message: "activator (old)", isRollingOut: true });

/** Status, reason and message of a condition after some outcomes. */
function said(type: string, ...outcomes: readonly Outcome[]) {
  let component = serving();
  for (const outcome of outcomes)
    component = serving({ status: statusOf(component, outcome, now) });
  const { status, reason, message } = conditionOf(component.status?.conditions, type) ?? {};
  return [status, reason, message];
}

test("Deployments that somebody scaled to zero are named in a condition that stays True", () => {
  expect(said("DeploymentsAvailable", scaled)).toEqual([
    "True",
    "ScaledToZero",
    "Scaled to zero: activator, autoscaler",
  ]);
  expect(said("Ready", scaled)).toEqual(["True", undefined, undefined]);
  expect(said("DeploymentsAvailable", scaled, applied())).toEqual(["True", undefined, undefined]);
});

test("a scale to zero has a Warning Event, each other set of Deployments has one, and its end has one", () => {
  expect(eventsAfter(applied(), scaled)).toEqual(["Warning ScaledToZero"]);
  expect(eventsAfter(applied(), scaled, scaled)).toEqual([]);
  expect(eventsAfter(scaled, applied({ scaledToZero: ["webhook"] }))).toEqual([
    "Warning ScaledToZero",
  ]);
  expect(eventsAfter(scaled, applied())).toEqual(["Normal Recovered"]);
});

test("a rollout within its deadline has a reason of its own, and no Event", () => {
  expect(said("Ready", applied(), rolling)).toEqual(["False", "RollingOut", "activator (old)"]);
  expect(eventsAfter(applied(), rolling)).toEqual([]);
});

test("a rollout that does not go on is NotReady, with an Event", () => {
  const over = applied({ available: false, message: "activator (quota)", stuck: ["a (quota)"] });
  expect(said("Ready", applied(), rolling, over)).toEqual([
    "False",
    "NotReady",
    "activator (quota)",
  ]);
  expect(eventsAfter(applied(), rolling, over)).toEqual(["Warning NotReady"]);
  const down = applied({ available: false, message: "activator (down)" });
  expect(eventsAfter(applied(), rolling, down)).toEqual(["Warning NotReady"]);
});

test("workloads that start for the first time are in a rollout until a cause is known", () => {
  const begun: Outcome = { kind: "working", steps: { eligible: true, resolved: true } };
  const starting = applied({ available: false, message: "a (0 of 1 pods available)" });
  const stuck = applied({ available: false, message: "a (image)", stuck: ["a (image)"] });
  expect(said("DeploymentsAvailable", begun, starting)[1]).toBe("RollingOut");
  expect(said("DeploymentsAvailable", begun, stuck)[1]).toBe("NotReady");
});
