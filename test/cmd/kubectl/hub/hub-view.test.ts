import { expect, test } from "vitest";

import type { ComponentStatus } from "../../../../api/component.ts";
import { hubViewOf } from "../../../../cmd/kubectl/hub/installations.ts";
import { component, type ComponentFacts, now } from "../fleet-facts.ts";

interface Case {
  readonly name: string;
  readonly facts: ComponentFacts;
  readonly state: string;
  readonly reason: string | null;
  readonly since: string | null;
}

const hourAgo = "2026-11-21T11:00:00Z";

/** An installation that was not ready for a long time and got a new spec then. */
function begunAgain(lastTransitionTime: string): ComponentStatus {
  const { conditions = [], ...status } = begun("Installing", hourAgo);
  const work = { type: "Reconciling", status: "True", lastTransitionTime } as const;
  return { ...status, conditions: [...conditions, work] };
}

function begun(reason: string, lastTransitionTime = "2026-11-21T11:50:00Z"): ComponentStatus {
  const one = { status: "Unknown", reason, message: "1 of 9", lastTransitionTime } as const;
  const conditions = ["InstallSucceeded", "Ready"].map((type) => ({ type, ...one }));
  return { observedGeneration: 1, conditions };
}

test.each<Case>([
  { name: "Ready=True", facts: {}, state: "Ready", reason: null, since: hourAgo },
  {
    name: "Ready=False with a reason",
    facts: { ready: { status: "False", reason: "ClusterProfileNotFound" } },
    state: "NotReady",
    reason: "ClusterProfileNotFound",
    since: hourAgo,
  },
  {
    name: "Ready=Unknown",
    facts: { ready: { status: "Unknown" } },
    state: "Unknown",
    reason: null,
    since: hourAgo,
  },
  {
    name: "an installation that goes on",
    facts: { status: begun("Installing") },
    state: "InProgress",
    reason: "Installing",
    since: "2026-11-21T11:50:00Z",
  },
  {
    name: "an installation that goes on for too long",
    facts: { status: begun("Installing", "2026-11-21T11:44:00Z") },
    state: "Unknown",
    reason: "Installing",
    since: "2026-11-21T11:44:00Z",
  },
  {
    name: "an installation that begins with a new spec after a long failure",
    facts: { status: begunAgain("2026-11-21T11:50:00Z") },
    state: "InProgress",
    reason: "Installing",
    since: hourAgo,
  },
  {
    name: "an installation that goes on with a new spec for too long",
    facts: { status: begunAgain("2026-11-21T11:44:00Z") },
    state: "Unknown",
    reason: "Installing",
    since: hourAgo,
  },
  {
    name: "no status at all",
    facts: { status: {} },
    state: "Unknown",
    reason: "NoStatus",
    since: "2026-11-18T08:00:00Z",
  },
  {
    name: "a status of an older generation",
    facts: { generation: 2 },
    state: "Outdated",
    reason: "NotObserved",
    since: hourAgo,
  },
  {
    name: "a deletion in progress",
    facts: { deletedAt: "2026-11-21T11:59:00Z" },
    state: "Deleting",
    reason: null,
    since: "2026-11-21T11:59:00Z",
  },
])("$name is $state", ({ facts, state, reason, since }) => {
  expect(hubViewOf(component(facts), now)).toMatchObject({ state, reason, since });
});

test.each([
  [null, "KNF1028"],
  ["spoke-1", "KNF5002"],
])("a right that a removal lacks on the cluster %s is %s", (cluster, code) => {
  const message =
    "Removal failed with message: [Forbidden] Deleting jobs is not allowed on the target cluster";
  const conditions = [
    { type: "InstallSucceeded", status: "False", reason: "Error", message },
  ] as const;
  const ready = { status: "False", reason: "Error", message } as const;
  const removed = component({ cluster, ready });
  const status = {
    ...removed.status,
    conditions: [...(removed.status?.conditions ?? []), ...conditions],
  };
  expect(hubViewOf({ ...removed, status }, now).code).toBe(code);
});
