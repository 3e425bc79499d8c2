import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Trouble } from "../../../controller/apply/change-set.ts";
import { transitionEvents } from "../../../controller/status/component-events.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";
import { eventsAfter } from "../../support/events-after.ts";

type Applied = Extract<Outcome, { kind: "applied" }>;

const now = new Date("2026-02-03T04:05:06Z");
const steps = { eligible: true, resolved: true };
const working: Outcome = { kind: "working", steps };
const progress = { done: 1, total: 150, waiting: [], failed: 0 };
const changing: Outcome = { kind: "working", steps, version: "1.23.0", progress };
const lost: Outcome = {
  kind: "failed",
  steps,
  error: new FleetError("SpokeUnreachable", "Silent", { code: "Unreachable" }),
};
const answered = new ApiError({
  status: 503,
  reason: "ServiceUnavailable",
  message: "",
  causes: [],
  isStatus: true,
  request: "GET /",
});
const busy: Outcome = {
  kind: "failed",
  steps,
  error: new FleetError("ClusterBusy", "GET / was answered 503", { cause: answered }),
};
const ours = { apiVersion: "v1", kind: "ConfigMap", namespace: "a", name: "a" };

/** Objects that cannot be put where they should be for now, or cannot be removed. */
function withTroubles(
  troubles: Partial<Record<"parked" | "lingering", readonly string[]>>,
): Applied {
  const { parked = [], lingering = [] } = troubles;
  const changes = {
    applied: [],
    unchanged: 150,
    parked: about(parked),
    failed: [],
    lingering: about(lingering),
  };
  const readiness = { available: true, message: "" };
  return { kind: "applied", version: "1.23.0", paths: [], changes, readiness };
}

function about(messages: readonly string[]): readonly Trouble[] {
  return messages.map((message) => ({ key: ours, message }));
}

const away = withTroubles({ parked: ["Waiting for webhook a.b"] });
const leaving = withTroubles({ parked: ["Waiting for its deletion", "Waiting for webhook a.b"] });
const held = withTroubles({ lingering: ["Obsolete and being deleted"] });
const complete = withTroubles({});
const starting = { ...complete, readiness: { available: false, message: "a" } };
const refused = {
  ...away,
  changes: { applied: [], unchanged: 1, parked: [], failed: [{ key: ours, message: "Denied" }] },
};

test.each([
  { name: "a repair that waits", outcomes: [complete, away], events: ["Warning Waiting"] },
  { name: "an obsolete object", outcomes: [complete, held], events: ["Warning Waiting"] },
  { name: "a waiting that goes on", outcomes: [complete, away, away], events: [] },
  { name: "a waiting for something else", outcomes: [complete, away, leaving, held], events: [] },
  { name: "a spoke lost meanwhile", outcomes: [complete, away, lost, away], events: ["Recovered"] },
  { name: "the end of a waiting", outcomes: [complete, away, complete], events: ["Normal Ready"] },
  {
    name: "the next waiting",
    outcomes: [complete, away, complete, away],
    events: ["Warning Waiting"],
  },
  { name: "a first install that waits", outcomes: [working, away], events: [] },
  { name: "a change that waits", outcomes: [complete, changing, away], events: [] },
  { name: "C11: a first install that is to be patient", outcomes: [working, busy], events: [] },
  { name: "C11: and goes on then", outcomes: [working, busy, changing], events: [] },
  { name: "C11: a cluster that has no time", outcomes: [complete, busy], events: ["Waiting"] },
  { name: "C11: and has none for long", outcomes: [complete, busy, away, busy], events: [] },
  { name: "C11: and has some again", outcomes: [complete, busy, complete], events: ["Ready"] },
  { name: "a waiting after a refusal", outcomes: [working, refused, away], events: ["Waiting"] },
  {
    name: "a refusal that is over while Deployments start",
    outcomes: [working, refused, starting],
    events: ["Normal Recovered"],
  },
])("$name is worth the Events $events", ({ outcomes, events }) => {
  expect(eventsAfter(...outcomes)).toEqual(events.map((event) => expect.stringContaining(event)));
});

test("a waiting names the first object, what it waits for, and how many more there are", () => {
  const before = statusOf(serving(), complete, now);
  const after = statusOf(serving({ status: before }), leaving, now);
  expect(transitionEvents(before, after, leaving)).toEqual([
    {
      type: "Warning",
      reason: "Waiting",
      message: "ConfigMap a/a: Waiting for its deletion (and 1 more)",
    },
  ]);
});

test("workloads that may not be watched any more are worth an Event, once", () => {
  const unseen = "Watching deployments is not allowed";
  const blind = { ...withTroubles({}), readiness: { available: true, message: "", unseen } };
  expect(eventsAfter(complete, blind)).toEqual(["Warning NotWatched"]);
  expect(eventsAfter(complete, blind, blind)).toEqual([]);
});

test("a component that may use its cluster again is worth an Event, also while something else is wrong", () => {
  const neither = { eligible: false, resolved: false };
  const [forbidden, twin] = (["ReferenceNotPermitted", "DuplicateComponent"] as const).map(
    (reason): Outcome => ({ kind: "failed", steps: neither, error: new FleetError(reason, "No") }),
  );
  if (forbidden === undefined || twin === undefined) throw new Error("There are two");
  expect(eventsAfter(complete, twin, forbidden, twin)).toEqual(["Normal Recovered"]);
});
