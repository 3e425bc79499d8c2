import { describe, expect, test } from "vitest";

import type { FleetSetStatus } from "../../../api/fleet-set.ts";
import {
  deletionEvents,
  editEvents,
  recordEvents,
  setEvents,
  stampEvents,
} from "../../../controller/sets/set-events.ts";
import { SetWorld } from "../../sets/set-world.ts";

const stage = {
  name: "canary",
  clusters: 2,
  done: 2,
  failed: 0,
  updating: 0,
  unreachable: 0,
} as const;
const rolling: FleetSetStatus = {
  updateRevision: "prod-2",
  rollout: { phase: "Rolling" },
  clusters: { selected: 3, done: 2 },
  stages: [{ ...stage, state: "Rolling" }],
};

const shrunk = { type: "Selected", status: "False", reason: "SuspiciousShrink" } as const;

interface Case {
  readonly name: string;
  readonly before: FleetSetStatus | undefined;
  readonly after: FleetSetStatus;
  readonly wanted: readonly string[];
}

describe("between two states of a set there is an Event for", () => {
  test.each<Case>([
    { name: "nothing, when nothing changed", before: rolling, after: rolling, wanted: [] },
    { name: "a first rollout", before: undefined, after: rolling, wanted: ["RolloutStarted"] },
    {
      name: "another revision",
      before: { ...rolling, updateRevision: "prod-1" },
      after: rolling,
      wanted: ["RolloutStarted"],
    },
    {
      name: "a stage that is passed",
      before: rolling,
      after: { ...rolling, stages: [{ ...stage, state: "Passed" }] },
      wanted: ["StagePassed"],
    },
    {
      name: "a stage that waits for somebody when it is done",
      before: rolling,
      after: {
        ...rolling,
        rollout: { phase: "AwaitingApproval", stage: stage.name },
        stages: [{ ...stage, state: "AwaitingApproval" }],
      },
      wanted: ["AwaitingApproval"],
    },
    {
      name: "a stage that waits for somebody before it begins, after one that waited, too",
      before: { ...rolling, rollout: { phase: "AwaitingApproval", stage: "before" } },
      after: { ...rolling, rollout: { phase: "AwaitingApproval", stage: stage.name } },
      wanted: ["AwaitingApproval"],
    },
    {
      name: "nothing, while a stage waits for somebody",
      before: { ...rolling, rollout: { phase: "AwaitingApproval", stage: stage.name } },
      after: { ...rolling, rollout: { phase: "AwaitingApproval", stage: stage.name } },
      wanted: [],
    },
    {
      name: "a rollout that halts",
      before: rolling,
      after: { ...rolling, rollout: { phase: "Halted" } },
      wanted: ["Halted"],
    },
    {
      name: "a rollback",
      before: rolling,
      after: { ...rolling, rollout: { phase: "RolledBack" } },
      wanted: ["RolledBack"],
    },
    {
      name: "the end",
      before: rolling,
      after: { ...rolling, rollout: { phase: "Complete" } },
      wanted: ["Complete"],
    },
    {
      name: "the end of another revision, after an end",
      before: { ...rolling, updateRevision: "prod-1", rollout: { phase: "Complete" } },
      after: { ...rolling, rollout: { phase: "Complete" } },
      wanted: ["RolloutStarted", "Complete"],
    },
    {
      name: "another number of clusters",
      before: rolling,
      after: { ...rolling, clusters: { selected: 4 } },
      wanted: ["SelectionChanged"],
    },
    {
      name: "a selection that is suspiciously small",
      before: rolling,
      after: { ...rolling, conditions: [shrunk] },
      wanted: ["SuspiciousShrink"],
    },
    {
      name: "a new rollout, not for stages that were passed before",
      before: { ...rolling, stages: [{ ...stage, state: "Passed" }] },
      after: { ...rolling, updateRevision: "prod-3", stages: [{ ...stage, state: "Passed" }] },
      wanted: ["RolloutStarted"],
    },
  ])("$name", ({ before, after, wanted }) => {
    expect(setEvents(before, after).map(({ reason }) => reason)).toEqual(wanted);
  });
});

describe("a component that is gone", () => {
  const { set } = new SetWorld({}, []);
  const metadata = { namespace: "fleet", name: "prod-a", uid: "1", resourceVersion: "1" };
  const component = { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing" } as const;

  test("is told when the set wants it", () => {
    expect(deletionEvents(set, { ...component, metadata })).toEqual([
      {
        type: "Warning",
        reason: "ComponentDeleted",
        message:
          "KnativeServing fleet/prod-a was deleted by somebody; its cluster gets another one",
      },
    ]);
  });

  test("is not told when its cluster is not selected any more, or the set is deleted", () => {
    const annotations = { "knfleet.dev/set-unselected-at": "2026-11-25T12:00:00Z" };
    const leaving = { ...component, metadata: { ...metadata, annotations } };
    expect(deletionEvents(set, leaving)).toEqual([]);
    const deletionTimestamp = "2026-11-25T12:00:00Z";
    const deleted = { ...set, metadata: { ...set.metadata, deletionTimestamp } };
    expect(deletionEvents(deleted, { ...component, metadata })).toEqual([]);
  });
});

test("an approval of another revision is told once, when it is written", () => {
  const { set } = new SetWorld({}, []);
  const seen = { ...set, status: rolling };
  const annotated = (value: string) => ({
    ...seen,
    metadata: { ...seen.metadata, annotations: { "knfleet.dev/approve.canary-after": value } },
  });
  const [old, right] = [annotated("prod-1 alice"), annotated("prod-2 alice")];
  expect(editEvents(seen, old)).toEqual([
    {
      type: "Warning",
      reason: "ApprovalIgnored",
      message: "knfleet.dev/approve.canary-after approves prod-1, and prod-2 is rolled out",
    },
  ]);
  expect(editEvents(old, old)).toEqual([]);
  expect(editEvents(seen, right)).toEqual([]);
});

test.each([
  { name: "values that changed", revision: "prod-1", hash: "old", isTold: true },
  { name: "the same values", revision: "prod-1", hash: "new", isTold: false },
  { name: "another revision", revision: "prod-0", hash: "old", isTold: false },
])("a stamp of a component with $name is told: $isTold", ({ revision, hash, isTold }) => {
  const { set } = new SetWorld({}, []);
  const labels = { "knfleet.dev/set-revision": revision };
  const annotations = { "knfleet.dev/set-spec": hash };
  const metadata = { namespace: "fleet", name: "prod-a", uid: "1", resourceVersion: "1" };
  const stamp = {
    cluster: "fleet/a",
    revision: "prod-1",
    stage: "all",
    template: set.spec.template,
    desired: { spec: {}, hash: "new" },
    child: {
      apiVersion: "operator.knative.dev/v1beta1",
      kind: "KnativeServing",
      metadata: { ...metadata, labels, annotations },
    },
  } as const;
  const message = "Values of fleet/a changed; they get them now";
  const wanted = isTold ? [{ type: "Normal", reason: "ValuesChanged", message }] : [];
  expect(stampEvents([stamp])).toEqual(wanted);
  expect(stampEvents([{ ...stamp, child: undefined }])).toEqual([]);
});

test("what users did has Events that say who, in which stage and why; what became of a revision has its own", () => {
  const at = "2026-11-25T12:00:00Z";
  const events = recordEvents([
    { what: "begin", at },
    { what: "pause", at, user: "alice", stage: "early", reason: "incident 7" },
    {
      what: "skip",
      at,
      user: "alice",
      stage: "early",
      subject: "cluster fleet/eu-1",
      reason: "broken",
    },
    { what: "resume", at },
  ]);
  expect(events).toEqual([
    { type: "Normal", reason: "Paused", message: "alice: pause in stage early: incident 7" },
    {
      type: "Normal",
      reason: "Skipped",
      message: "alice: skip cluster fleet/eu-1 in stage early: broken",
    },
    { type: "Normal", reason: "Resumed", message: "Somebody: resume" },
  ]);
});
