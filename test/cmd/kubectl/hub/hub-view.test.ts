import { expect, test } from "vitest";

import { hubViewOf } from "../../../../cmd/kubectl/hub/installations.ts";
import { component, type ComponentFacts } from "../fleet-facts.ts";

interface Case {
  readonly name: string;
  readonly facts: ComponentFacts;
  readonly state: string;
  readonly reason: string | null;
  readonly since: string | null;
}

const hourAgo = "2026-11-21T11:00:00Z";

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
  expect(hubViewOf(component(facts))).toMatchObject({ state, reason, since });
});
