import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../api/kubernetes.ts";
import {
  isApplied,
  isDrift,
  isOlder,
  type ObservedObject,
  observedObject,
} from "../../installation/observed-object.ts";

const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "a", name: "b" };

function record(change: Partial<ObservedObject> = {}): ObservedObject {
  return {
    key,
    uid: "one",
    resourceVersion: "10",
    fingerprint: "print",
    deleting: false,
    ...change,
  };
}

interface Drift {
  readonly what: string;
  readonly drift: boolean;
  readonly before: ObservedObject | undefined;
  readonly after: ObservedObject;
}

interface Age {
  readonly what: string;
  readonly older: boolean;
  readonly event: string;
  readonly known: string | undefined;
}

describe("drift", () => {
  const table: readonly Drift[] = [
    {
      what: "status noise",
      drift: false,
      before: record(),
      after: record({ resourceVersion: "11" }),
    },
    {
      what: "a field of ours changed",
      drift: true,
      before: record(),
      after: record({ fingerprint: "other" }),
    },
    {
      what: "an apply of ours changed a value, which is told as such,",
      drift: false,
      before: record({ appliedAt: 1000 }),
      after: record({ appliedAt: 2000 }),
    },
    {
      what: "nothing is ours any more",
      drift: true,
      before: record(),
      after: record({ fingerprint: undefined }),
    },
    {
      what: "its deletion began",
      drift: true,
      before: record(),
      after: record({ deleting: true }),
    },
    {
      what: "its deletion goes on",
      drift: false,
      before: record({ deleting: true }),
      after: record({ deleting: true }),
    },
    {
      what: "replaced by an equal one",
      drift: true,
      before: record(),
      after: record({ uid: "two" }),
    },
    { what: "appears as we applied it", drift: false, before: undefined, after: record() },
    {
      what: "appears with nothing of ours",
      drift: true,
      before: undefined,
      after: record({ fingerprint: undefined }),
    },
    {
      what: "appears while it is deleted",
      drift: true,
      before: undefined,
      after: record({ deleting: true }),
    },
  ];
  test.each(table)("$what: $drift", ({ drift, before, after }) => {
    expect(isDrift(before, after)).toBe(drift);
  });
});

test("an apply of ours that changed a value is seen by its time", () => {
  const before = record({ appliedAt: 1000 });
  expect(isApplied(before, record({ appliedAt: 2000 }))).toBe(true);
  expect(isApplied(before, record({ appliedAt: 1000, fingerprint: "other" }))).toBe(false);
  expect(isApplied(undefined, before)).toBe(false);
});

describe("an event is older than what is known", () => {
  const table: readonly Age[] = [
    { what: "a smaller version", older: true, event: "9", known: "10" },
    { what: "fewer digits, but a larger number", older: false, event: "10", known: "9" },
    { what: "the same version", older: false, event: "10", known: "10" },
    {
      what: "versions beyond what a JavaScript number holds",
      older: true,
      event: "9007199254740992",
      known: "9007199254740993",
    },
    { what: "a version that is no number", older: false, event: "abc", known: "10" },
    { what: "nothing is known", older: false, event: "9", known: undefined },
  ];
  test.each(table)("$what: $older", ({ older, event, known }) => {
    const before = known === undefined ? undefined : record({ resourceVersion: known });
    expect(isOlder(record({ resourceVersion: event }), before)).toBe(older);
  });
});

describe("a sighting", () => {
  const ours = {
    manager: "knfleet-hub",
    operation: "Apply",
    time: "2026-01-02T03:04:05Z",
    fieldsV1: { "f:data": { "f:a": {} } },
  };
  const object: KubeObject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: "a",
      name: "b",
      uid: "one",
      resourceVersion: "10",
      managedFields: [ours],
    },
  };

  test("holds identity, version, the fingerprint of our fields and when we changed them", () => {
    expect(observedObject(object, "knfleet-hub")).toEqual({
      key,
      uid: "one",
      resourceVersion: "10",
      fingerprint: expect.stringMatching(/^[\w-]{22}$/),
      appliedAt: Date.UTC(2026, 0, 2, 3, 4, 5) / 1_000,
      deleting: false,
    });
  });

  test("has no fingerprint when another manager owns everything", () => {
    const { fingerprint, appliedAt } = observedObject(object, "knfleet-other");
    expect([fingerprint, appliedAt]).toEqual([undefined, undefined]);
  });

  test("says that a deletion has begun", () => {
    const metadata = { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(observedObject({ ...object, metadata }, "knfleet-hub").deleting).toBe(true);
  });
});
