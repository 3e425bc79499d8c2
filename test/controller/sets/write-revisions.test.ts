import { expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { RevisionWriter } from "../../../controller/sets/write-revisions.ts";
import type { Revision, RevisionMark } from "../../../sets/facts.ts";
import { SetWorld } from "../../sets/set-world.ts";
import { apiError } from "../../support/api-error.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const { signal } = new AbortController();
const now = "2026-01-01T00:00:00Z";
const { set } = new SetWorld({}, []);

function revision(name: string, number = 1): Revision {
  return { name, number, failed: false, content: { template: set.spec.template } };
}

/** A writer, what it sends, and what it remembers. */
function writer(
  creation: () => Promise<void> = () => Promise.resolve(),
  patching: () => Promise<void> = () => Promise.resolve(),
) {
  const sent: unknown[] = [];
  const answer: KubeObject = {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: { namespace: "fleet", name: "answer", uid: "1", resourceVersion: "1" },
  };
  const remembered: string[] = [];
  const client = {
    create: async (_ref: unknown, object: { readonly metadata: { readonly name?: string } }) => {
      sent.push({ create: object.metadata.name });
      await creation();
      return answer;
    },
    patch: async (ref: { readonly name: string }, patch: unknown) => {
      sent.push({ patch: ref.name, with: patch });
      await patching();
      return answer;
    },
    remove: async (ref: { readonly name: string }) => {
      sent.push({ remove: ref.name });
      return "gone" as const;
    },
  };
  const forgotten: string[] = [];
  const recent = {
    add: (key: string) => void remembered.push(key),
    delete: (key: string) => void forgotten.push(key),
  };
  const revisions = new RevisionWriter({ client, clock: new FakeClock(), recent });
  return { revisions, sent, remembered, forgotten };
}

const content = { template: { spec: { version: "1.22" } }, versions: { "1.22": "1.22.1" } };
const begin: RevisionMark = { kind: "begin", name: "prod-1", number: 3, content };
const marks = {
  completed: "completed-revision",
  digest: "content-digest",
  failedAt: "failed-at",
  retriedAt: "retried-at",
};

function annotated(values: Readonly<Record<string, string | null>>): unknown {
  const annotations = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`knfleet.dev/${name}`, value]),
  );
  return { patch: "prod-1", with: { metadata: { annotations } } };
}

test.each<{ mark: RevisionMark; is: unknown }>([
  {
    mark: { kind: "complete", name: "prod-1", number: 3 },
    is: annotated({ [marks.completed]: "3" }),
  },
  {
    mark: { kind: "digest", name: "prod-1", digest: "0f" },
    is: annotated({ [marks.digest]: "0f" }),
  },
  { mark: { kind: "fail", name: "prod-1" }, is: annotated({ [marks.failedAt]: now }) },
  {
    mark: { kind: "retry", name: "prod-1" },
    is: annotated({ [marks.failedAt]: null, [marks.retriedAt]: now }),
  },
])("the mark $mark.kind is one write to the revision", async ({ mark, is }) => {
  const { revisions, sent, remembered } = writer();
  await revisions.mark({ set, revisions: [revision("prod-1")] }, mark, signal);
  expect(sent).toEqual([is]);
  expect(remembered).toEqual(["fleet/answer"]);
});

test("a revision that was rolled out before gets a higher number", async () => {
  const { revisions, sent } = writer();
  await revisions.mark({ set, revisions: [revision("prod-1")] }, begin, signal);
  expect(sent).toEqual([{ patch: "prod-1", with: { revision: 3 } }]);
});

test("a new revision is created", async () => {
  const { revisions, sent, remembered } = writer();
  await revisions.mark({ set, revisions: [revision("prod-0")] }, begin, signal);
  expect(sent).toEqual([{ create: "prod-1" }]);
  expect(remembered).toEqual(["fleet/answer"]);
});

test("a revision that a set of the same name has left is taken over, without its marks", async () => {
  const { revisions, sent } = writer(() => Promise.reject(apiError(409, "AlreadyExists")));
  await revisions.mark({ set, revisions: [] }, begin, signal);
  const names = Object.values(marks).map((name) => [`knfleet.dev/${name}`, null] as const);
  expect(sent).toEqual([
    { create: "prod-1" },
    {
      patch: "prod-1",
      with: {
        revision: 3,
        metadata: {
          ownerReferences: [expect.objectContaining({ uid: set.metadata.uid })],
          annotations: Object.fromEntries(names),
        },
      },
    },
  ]);
});

test("a revision that the hub refuses is no revision, and the error says what it was", async () => {
  const refusal = apiError(403, "Forbidden");
  const { revisions, sent } = writer(() => Promise.reject(refusal));
  await expect(revisions.mark({ set, revisions: [] }, begin, signal)).rejects.toMatchObject({
    what: "revision of the set",
    refusal,
  });
  expect(sent).toEqual([{ create: "prod-1" }]);
});

test.each([apiError(503, "Unavailable"), new TypeError("bug")])(
  "a revision that cannot be created is no revision: %s",
  async (failure) => {
    const { revisions, sent } = writer(() => Promise.reject(failure));
    await expect(revisions.mark({ set, revisions: [] }, begin, signal)).rejects.toBe(failure);
    expect(sent).toEqual([{ create: "prod-1" }]);
  },
);

test("the oldest revisions beyond the limit go, whatever their order, but none that is used", async () => {
  const { revisions, sent, forgotten } = writer();
  const child: Component = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: {
      namespace: "fleet",
      name: "prod-a",
      uid: "1",
      resourceVersion: "1",
      labels: { "knfleet.dev/set-revision": "worn" },
    },
  };
  await revisions.prune(
    {
      ...new SetWorld({}, []).facts(),
      set: {
        ...set,
        spec: { ...set.spec, revisionHistoryLimit: 2 },
        status: { currentRevision: "current", updateRevision: "update" },
      },
      children: [child],
      revisions: [
        revision("old-3", 3),
        revision("worn", 1),
        revision("old-5", 5),
        revision("current", 2),
        revision("old-4", 4),
        revision("update", 0),
        revision("old-6", 6),
      ],
    },
    signal,
  );
  expect(sent).toEqual([{ remove: "old-4" }, { remove: "old-3" }]);
  // Nobody patches what is gone while the watch still shows it.
  expect(forgotten).toEqual(["fleet/old-4", "fleet/old-3"]);
});

test.each<readonly [number, readonly string[]]>([
  [404, ["fleet/prod-1"]],
  [409, []],
])("a revision that answers %i to its mark is forgotten: %j", async (status, gone) => {
  const failure = apiError(status, "Failure");
  const { revisions, forgotten } = writer(undefined, () => Promise.reject(failure));
  const known = { set, revisions: [revision("prod-1")] };
  await expect(revisions.mark(known, begin, signal)).rejects.toBe(failure);
  await expect(revisions.mark(known, { kind: "fail", name: "prod-1" }, signal)).rejects.toBe(
    failure,
  );
  expect(new Set(forgotten)).toEqual(new Set(gone));
});
