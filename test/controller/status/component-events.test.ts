import { expect, test } from "vitest";

import type { ComponentStatus } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { initialProtection } from "../../../controller/guard/protection.ts";
import {
  adoptedEvent,
  repairEvent,
  webhookUnblockedEvent,
  transitionEvents,
} from "../../../controller/status/component-events.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";
import { eventsAfter } from "../../support/events-after.ts";

const now = new Date("2026-02-03T04:05:06Z");
const steps = { eligible: true, resolved: true };
const working: Outcome = { kind: "working", steps };
const progress = { done: 1, total: 150, waiting: [], failed: 0 };
const changing: Outcome = { kind: "working", steps, version: "1.23.0", progress };
const busy: Outcome = { kind: "failed", steps, error: new FleetError("ClusterBusy", "Waiting") };
const odd: Outcome = { kind: "failed", steps, error: new FleetError("ManifestInvalid", "Odd") };
const lost: Outcome = {
  kind: "failed",
  steps,
  error: new FleetError("SpokeUnreachable", "Silent", { code: "Unreachable" }),
};

/** `stuck` are those of the waiting that do not come up by themselves. */
function applied(
  version: string,
  waiting: readonly string[] = [],
  stuck: readonly string[] = [],
): Outcome {
  return {
    kind: "applied",
    version,
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [] },
    readiness: { available: waiting.length === 0, message: waiting.join(", "), stuck },
  };
}

/** Deployments whose watches say, between two attempts or during one, that they are not available. */
const seen: Outcome = {
  kind: "seen",
  doubt: { status: "False", reason: "NotReady", message: "a" },
};

/** Deployments that do not come up, of which it is known why. */
function blocked(version: string, ...causes: readonly string[]): Outcome {
  return applied(version, causes, causes);
}

/** The failed install of a component that its spoke pulls. */
function told(message: string): Outcome {
  const failure = { type: "InstallSucceeded", status: "False", reason: "Error", message } as const;
  return { kind: "reported", conditions: [failure] };
}

function removing(left: number): Outcome {
  return { kind: "removing", steps, remaining: { left, total: 150 } };
}

test.each([
  { name: "a first look", outcomes: [working], events: [] },
  { name: "a second look", outcomes: [working, working], events: [] },
  { name: "a first install again", outcomes: [odd, changing], events: ["Normal Installing"] },
  { name: "a start of Deployments", outcomes: [working, applied("1.23.0", ["a"])], events: [] },
  {
    name: "the end of an install",
    outcomes: [applied("1.23.0", ["a"]), applied("1.23.0")],
    events: ["Normal Installed"],
  },
  { name: "the same again", outcomes: [applied("1.23.0"), applied("1.23.0")], events: [] },
  {
    name: "a Deployment that goes down",
    outcomes: [applied("1.23.0"), applied("1.23.0", ["a"])],
    events: ["Warning NotReady"],
  },
  {
    name: "another Deployment that goes down",
    outcomes: [applied("1.23.0"), applied("1.23.0", ["a"]), applied("1.23.0", ["a", "b"])],
    events: [],
  },
  {
    name: "a lost spoke",
    outcomes: [applied("1.23.0"), lost],
    events: ["Warning SpokeUnreachable"],
  },
  { name: "a spoke that stays lost", outcomes: [applied("1.23.0"), lost, lost], events: [] },
  {
    name: "a spoke that is back",
    outcomes: [applied("1.23.0"), lost, applied("1.23.0")],
    events: ["Normal Recovered", "Normal Ready"],
  },
  {
    name: "a Deployment that is down when its spoke is back",
    outcomes: [applied("1.23.0"), lost, applied("1.23.0", ["a"])],
    events: ["Normal Recovered", "Warning NotReady"],
  },
  {
    name: "a Deployment that is down when its spoke is back and another failure over",
    outcomes: [applied("1.23.0"), lost, busy, applied("1.23.0", ["a"])],
    events: ["Normal Recovered", "Warning NotReady"],
  },
  {
    name: "a start of Deployments when a spoke is back",
    outcomes: [working, lost, applied("1.23.0", ["a"])],
    events: ["Normal Recovered"],
  },
  {
    name: "a Deployment that cannot start",
    outcomes: [working, applied("1.23.0", ["a"]), blocked("1.23.0", "a (quota)")],
    events: ["Warning NotReady"],
  },
  {
    name: "another Deployment that cannot start either",
    outcomes: [
      working,
      blocked("1.23.0", "a (quota)"),
      blocked("1.23.0", "a (quota)", "b (quota)"),
    ],
    events: [],
  },
  {
    name: "another Deployment that cannot start for another cause",
    outcomes: [
      working,
      blocked("1.23.0", "a (quota)"),
      blocked("1.23.0", "a (quota)", "b (OOMKilled)"),
    ],
    events: ["Warning NotReady"],
  },
  {
    name: "another Deployment that cannot start in place of the first",
    outcomes: [working, blocked("1.23.0", "a (quota)"), blocked("1.23.0", "b (quota)")],
    events: ["Warning NotReady"],
  },
  {
    name: "a release that the spoke does not have",
    outcomes: [working, told("Install failed with message: The release directory holds no x")],
    events: ["Warning ReleaseNotFound"],
  },
  {
    name: "a spec that the spoke cannot render",
    outcomes: [working, told("Install failed with message: spec.config is odd")],
    events: ["Warning ManifestInvalid"],
  },
  {
    name: "another failure that the spoke tells",
    outcomes: [working, told("Install failed with message: ConfigMap a/b: Invalid")],
    events: ["Warning ApplyFailed"],
  },
  {
    name: "a Deployment that cannot start for another cause than before",
    outcomes: [working, blocked("1.23.0", "a (quota)"), blocked("1.23.0", "a (image)")],
    events: ["Warning NotReady"],
  },
  {
    name: "the cause for which a Deployment went down",
    outcomes: [applied("1.23.0"), applied("1.23.0", ["a"]), blocked("1.23.0", "a (image)")],
    events: ["Warning NotReady"],
  },
  {
    name: "a rollout of a new version",
    outcomes: [applied("1.22.0"), changing, applied("1.23.0", ["a"])],
    events: [],
  },
  {
    name: "a rollout of a new version that was sent before it was told of",
    outcomes: [applied("1.22.0"), applied("1.23.0", ["a"])],
    events: ["Normal Installing"],
  },
  {
    name: "a rollout of a new version that goes on, of which nobody was told before it was sent",
    outcomes: [applied("1.22.0"), applied("1.23.0", ["a"]), applied("1.23.0", ["a", "b"])],
    events: [],
  },
  {
    name: "a rollout of a changed specification",
    outcomes: [applied("1.23.0"), changing, applied("1.23.0", ["a"])],
    events: [],
  },
  {
    name: "a rollout that is seen before its attempt ends",
    outcomes: [applied("1.22.0"), changing, seen],
    events: [],
  },
  {
    name: "a Deployment that is seen to go",
    outcomes: [applied("1.23.0"), seen],
    events: ["Warning NotReady"],
  },
  {
    name: "a rollout that cannot go on",
    outcomes: [applied("1.22.0"), changing, blocked("1.23.0", "a (image)")],
    events: ["Warning NotReady"],
  },
  {
    name: "the end of a rollout",
    outcomes: [applied("1.22.0"), changing, applied("1.23.0", ["a"]), applied("1.23.0")],
    events: ["Normal Installed"],
  },
  {
    name: "a change that begins",
    outcomes: [applied("1.22.0"), changing],
    events: ["Normal Installing"],
  },
  { name: "a change that goes on", outcomes: [applied("1.22.0"), changing, changing], events: [] },
  {
    name: "a removal that begins",
    outcomes: [applied("1.22.0"), removing(150)],
    events: ["Normal Finalizing"],
  },
  {
    name: "a removal that goes on",
    outcomes: [applied("1.22.0"), removing(150), removing(90)],
    events: [],
  },
  {
    name: "a removal that is tried again",
    outcomes: [applied("1.22.0"), removing(150), busy, removing(90)],
    events: [],
  },
  {
    name: "a removal in which the spoke is lost",
    outcomes: [applied("1.22.0"), removing(150), lost],
    events: ["Warning SpokeUnreachable"],
  },
  {
    name: "a new version",
    outcomes: [applied("1.22.0"), applied("1.23.0")],
    events: ["Normal Installed"],
  },
])("$name is worth the Events $events", ({ outcomes, events }) => {
  expect(eventsAfter(...outcomes)).toEqual(events);
});

test.each([
  { name: "a changed specification", generation: 2, events: ["Installing"] },
  { name: "the same specification", generation: 1, events: ["NotReady"] },
])(
  "Deployments that are not available after $name was sent are worth the Event $events",
  ({ generation, events }) => {
    const outcome = applied("1.23.0", ["a"]);
    const before = statusOf(serving(), applied("1.23.0"), now);
    const after = statusOf(serving({ metadata: { generation }, status: before }), outcome, now);
    expect(transitionEvents(before, after, outcome).map(({ reason }) => reason)).toEqual(events);
  },
);

function statusWith(
  status: Condition["status"],
  reason: string,
  message = reason,
): ComponentStatus {
  return { conditions: [{ type: "AnchorProtected", status, reason, message }] };
}

test("an anchor that loses its protection, and has it again, is worth one Event each", () => {
  const outcome = applied("1.23.0");
  const guarded = statusWith("True", "Enforced");
  const unguarded = statusWith("False", "NotEnforced");
  const missing = statusWith("False", "BindingMissing");
  const first = statusWith("False", "Probing", initialProtection.message);
  const again = statusWith("False", "Probing", "It was changed");
  const eventsOf = (before: ComponentStatus, after: ComponentStatus): readonly unknown[] =>
    transitionEvents(before, after, outcome).map(({ type, reason }) => `${type} ${reason}`);
  expect(eventsOf(guarded, unguarded)).toEqual(["Warning NotEnforced"]);
  expect(eventsOf(unguarded, unguarded)).toEqual([]);
  expect(eventsOf(unguarded, guarded)).toEqual(["Normal Recovered"]);
  expect(eventsOf(statusWith("False", "BindingMissing"), guarded)).toEqual(["Normal Recovered"]);
  expect(eventsOf(first, guarded)).toEqual([]);
  expect(eventsOf(guarded, again)).toEqual(["Warning Probing"]);
  expect(eventsOf(again, guarded)).toEqual(["Normal Recovered"]);
  expect(eventsOf(missing, again)).toEqual([]);
  expect(eventsOf(unguarded, again)).toEqual([]);
  expect(eventsOf(again, unguarded)).toEqual(["Warning NotEnforced"]);
});

function configMaps(...names: readonly string[]) {
  return names.map((name) => ({ apiVersion: "v1", kind: "ConfigMap", namespace: "a", name }));
}

test("a repair names up to three objects", () => {
  expect(repairEvent({ repaired: [] })).toBeUndefined();
  expect(repairEvent({ repaired: configMaps("d", "b", "c", "a") })).toEqual({
    type: "Normal",
    reason: "Repaired",
    message:
      "Put right what was deleted or changed: ConfigMap a/a, ConfigMap a/b, ConfigMap a/c and 1 more",
  });
});

test("a repair names the objects that got new content before their set stamped it", () => {
  const [first, second] = [configMaps("a", "b"), configMaps("b")];
  expect(repairEvent({ repaired: first, renewed: second })?.message).toBe(
    "Put right what was deleted or changed: ConfigMap a/a, ConfigMap a/b. With new content, which the set has not stamped yet: ConfigMap a/b",
  );
});

test("an adoption and a webhook that was unblocked are told with what they are about", () => {
  expect(adoptedEvent(74, "ClusterProfile fleet/a")).toEqual({
    type: "Normal",
    reason: "Adopted",
    message: "Took over 74 objects that the upstream operator installed on ClusterProfile fleet/a",
  });
  const configuration = "ValidatingWebhookConfiguration config.webhook.serving.knative.dev";
  const webhook = "config.webhook.serving.knative.dev";
  const event = webhookUnblockedEvent({ webhook, configuration });
  expect(event).toMatchObject({ type: "Warning", reason: "WebhookUnblocked" });
  expect(event.message).toContain(`Emptied the rules of ${configuration}`);
});
