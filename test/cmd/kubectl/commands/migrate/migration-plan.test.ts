import { describe, expect, test } from "vitest";

import type { MigrationFacts } from "../../../../../cmd/kubectl/commands/migrate/migration-facts.ts";
import {
  migrationExitCode,
  migrationPlan,
  stepsOf,
} from "../../../../../cmd/kubectl/commands/migrate/migration-plan.ts";
import {
  readRecord,
  recordOf,
} from "../../../../../cmd/kubectl/commands/migrate/migration-record.ts";
import {
  absent,
  component,
  factsOf,
  operatorWith,
  ourController,
  ours,
  recorded,
  set,
  upstreamController,
  workload,
} from "./migration-input.ts";

/** The first step that is not done, with its state and actor; or "nothing". */
function nextOf(facts: MigrationFacts): string {
  const step =
    stepsOf(facts).find(({ state }) => state === "Blocked") ??
    stepsOf(facts).find(({ state }) => state !== "Done");
  return step === undefined ? "nothing" : `${step.id} ${step.state} by ${step.by}`;
}

const [theirs, mine] = [upstreamController, ourController];
const stopped = operatorWith(theirs, 0);
const serving = operatorWith(mine, 1);
const free = [{ name: "knativeservings.operator.knative.dev", release: mine.release }];
const adopted = [{ ...component, anchor: ours }];

/** From upstream's operator, from one state to the next. `before`: the record is that of the beginning. */
const there = (changes: Partial<MigrationFacts>): MigrationFacts => ({
  ...recorded(factsOf("from-upstream")),
  ...changes,
});

const cluster = (changes: Partial<typeof workload>, guards = 0): MigrationFacts["clusters"] => [
  { id: "fleet/eu-1", workloads: [{ ...workload, ...changes }], guards },
];

test.each<readonly [state: string, facts: MigrationFacts, next: string]>([
  ["nothing was done", factsOf("from-upstream"), "record ToDo by command"],
  ["the state before is noted", there({}), "stop-upstream ToDo by command"],
  [
    "pods are still there",
    there({ upstream: operatorWith(theirs, 0, 1) }),
    "stop-upstream ToDo by command",
  ],
  [
    "a replica outside of the hub holds the Lease",
    there({ upstream: { controllers: [], holders: ["laptop"] } }),
    "stop-upstream ToDo by you",
  ],
  [
    "a component is being deleted",
    there({ components: [{ ...component, isDeleting: true }] }),
    "stop-upstream Blocked by command",
  ],
  ["upstream is stopped", there({ upstream: stopped }), "install-knfleet ToDo by you"],
  [
    "knfleet is on its way",
    there({
      upstream: stopped,
      knfleet: { controllers: [{ ...mine, available: 0 }], holders: [] },
    }),
    "install-knfleet ToDo by operator",
  ],
  [
    "knfleet is there and stopped",
    there({ upstream: stopped, knfleet: operatorWith(mine, 0) }),
    "install-knfleet ToDo by command",
  ],
  ["both are at work", there({ knfleet: serving }), "stop-upstream Blocked by command"],
  [
    "the CRDs are of upstream's release",
    there({ upstream: stopped, knfleet: serving }),
    "own-definitions ToDo by you",
  ],
  [
    "knfleet has taken over nothing yet",
    there({ upstream: stopped, knfleet: serving, definitions: free }),
    "take-over ToDo by operator",
  ],
  [
    "the adoption is not finished",
    there({
      upstream: stopped,
      knfleet: serving,
      definitions: free,
      components: [{ ...component, anchor: { ...ours, isComplete: false } }],
    }),
    "take-over ToDo by operator",
  ],
  [
    "a component is less Ready than before",
    there({
      upstream: stopped,
      knfleet: serving,
      definitions: free,
      components: [{ ...component, anchor: ours, isReady: false }],
    }),
    "take-over ToDo by operator",
  ],
  [
    "all is taken over",
    there({ upstream: stopped, knfleet: serving, definitions: free, components: adopted }),
    "remove-upstream ToDo by command",
  ],
  [
    "a Deployment got other pods",
    there({
      upstream: stopped,
      knfleet: serving,
      definitions: free,
      components: adopted,
      clusters: cluster({ generation: 2, template: "other" }),
    }),
    "compare Blocked by command",
  ],
  [
    "a Deployment was made anew",
    there({ upstream: stopped, clusters: cluster({ uid: "22222222-b" }) }),
    "compare Blocked by command",
  ],
  [
    "a Deployment was scaled",
    there({
      upstream: stopped,
      knfleet: serving,
      definitions: free,
      components: adopted,
      clusters: cluster({ generation: 2 }),
    }),
    "remove-upstream ToDo by command",
  ],
  [
    "upstream is removed",
    there({ upstream: absent, left: [], knfleet: serving, definitions: free, components: adopted }),
    "finish ToDo by command",
  ],
  [
    "it is over",
    factsOf("from-upstream", {
      upstream: absent,
      left: [],
      knfleet: serving,
      definitions: free,
      components: adopted,
    }),
    "nothing",
  ],
])("from upstream's operator, when %s", (_, facts, next) => {
  expect(nextOf(facts)).toBe(next);
});

const installed = {
  upstream: absent,
  knfleet: serving,
  definitions: free,
  left: [],
  components: adopted,
  clusters: cluster({ isUpstreams: false }, 3),
};

/** Back to upstream's operator. */
const back = (changes: Partial<MigrationFacts>): MigrationFacts => ({
  ...recorded(factsOf("to-upstream", installed)),
  ...changes,
});
const gone = operatorWith(mine, 0);
const started = { knfleet: gone, upstream: operatorWith(theirs, 1) };
const unreadCluster = back({ ...started, clusters: [], components: [component] });

test.each<readonly [state: string, facts: MigrationFacts, next: string]>([
  ["nothing was done", factsOf("to-upstream", installed), "record ToDo by command"],
  ["the state before is noted", back({}), "stop-knfleet ToDo by command"],
  [
    "both are at work",
    back({ upstream: operatorWith(theirs, 1) }),
    "stop-knfleet Blocked by command",
  ],
  ["there is a fleet set", back({ sets: [set] }), "stop-knfleet Blocked by command"],
  [
    "knfleet is stopped, and there is a fleet set",
    back({ sets: [set], knfleet: gone }),
    "stop-knfleet Blocked by command",
  ],
  [
    "upstream is too old for the namespace of a spoke",
    back({
      upstream: operatorWith({ ...theirs, version: "1.22.1" }, 0),
      components: [{ ...component, anchor: ours, namespace: "team-a" }],
    }),
    "stop-knfleet Blocked by command",
  ],
  [
    "upstream is too old, and every component is where it looks",
    back({ upstream: operatorWith({ ...theirs, version: "1.22.1" }, 0) }),
    "stop-knfleet ToDo by command",
  ],
  ["knfleet is stopped", back({ knfleet: gone }), "remove-guard ToDo by command"],
  [
    "the guard is gone",
    back({ knfleet: gone, clusters: cluster({ isUpstreams: false }) }),
    "give-back ToDo by command",
  ],
  [
    "everything is given back",
    back({ knfleet: gone, clusters: cluster({ isUpstreams: false }), components: [component] }),
    "start-upstream ToDo by you",
  ],
  [
    "upstream's Deployment stands still",
    back({
      knfleet: gone,
      upstream: stopped,
      clusters: cluster({ isUpstreams: false }),
      components: [component],
    }),
    "start-upstream ToDo by command",
  ],
  [
    "upstream has written nothing yet",
    back({
      ...started,
      clusters: cluster({ isUpstreams: false }),
      components: [component],
    }),
    "take-over ToDo by operator",
  ],
  [
    "upstream has annotated the Deployments",
    back({
      ...started,
      clusters: cluster({ generation: 3 }),
      components: [component],
    }),
    "finish ToDo by command",
  ],
  ["the cluster of a component could not be read", unreadCluster, "finish ToDo by command"],
  ["it is over", factsOf("to-upstream", { knfleet: gone }), "nothing"],
])("back to upstream's operator, when %s", (_, facts, next) => {
  expect(nextOf(facts)).toBe(next);
});

test("a set whose policy is Delete is told to keep its components first", () => {
  const facts = back({ sets: [set, { ...set, name: "trial", deletesComponents: true }] });
  const { pending, next } = stepsOf(facts).find(({ state }) => state === "Blocked") ?? {};
  expect(pending).toEqual([
    "KnativeServingSet fleet/trial has deletionPolicy Delete: its components would go with it",
  ]);
  expect(next).toEqual([
    `kubectl patch knativeservingset.knfleet.dev/trial -n fleet --type=merge -p '{"spec":{"deletionPolicy":"Orphan"}}'`,
    "kubectl delete knativeservingset.knfleet.dev/all -n fleet",
    "kubectl delete knativeservingset.knfleet.dev/trial -n fleet",
  ]);
});

function helmLinesOf(facts: MigrationFacts): string {
  return (
    stepsOf(facts)
      .find(({ id }) => id === "install-knfleet")
      ?.next.join("\n") ?? ""
  );
}

describe("the plan", () => {
  const unread = [{ reason: "Unreachable" as const, message: "no answer", cluster: "fleet/eu-2" }];

  test.each([
    [factsOf("to-upstream", { knfleet: gone }), [], 0],
    [there({}), [], 1],
    [there({ knfleet: serving }), unread, 2],
    [there({}), unread, 3],
  ])("has the exit code of plan %#", (facts, errors, code) => {
    expect(migrationExitCode(migrationPlan(facts, errors))).toBe(code);
  });

  test("names the commands of Helm, with the rights on the hub only where a component is there", () => {
    const remote = helmLinesOf(there({ upstream: stopped }));
    expect(remote).toContain("helm get values knative-operator --namespace knative-operator");
    expect(remote).not.toContain("hubInstallations");
    const onHub = [{ ...component, clusterId: "" }];
    expect(helmLinesOf(there({ upstream: stopped, components: onHub }))).toContain(
      "--set controller.hubInstallations=true --take-ownership",
    );
  });
});

describe("the state before", () => {
  test("is read back for its own direction only", () => {
    const record = recordOf(factsOf("from-upstream"));
    const text = JSON.stringify(record);
    expect(readRecord(text, "from-upstream")).toEqual(record);
    expect(readRecord(text, "to-upstream")).toBeUndefined();
    expect(readRecord("no record", "from-upstream")).toBeUndefined();
  });

  test("says nothing about clusters that were not read now", () => {
    const facts = there({ upstream: stopped, clusters: [] });
    expect(stepsOf(facts).find(({ id }) => id === "compare")?.state).toBe("ToDo");
  });
});
