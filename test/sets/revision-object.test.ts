import { describe, expect, test } from "vitest";

import { revisionAnnotations } from "../../api/fleet-set.ts";
import { revisionNameOf } from "../../sets/desired-spec.ts";
import { revisionObject, revisionOf, setSelectorOf } from "../../sets/revision-object.ts";
import { SetWorld } from "./set-world.ts";

const { set } = new SetWorld({}, []);
const name = revisionNameOf(set);
const stored = (annotations: Record<string, string>) => {
  const { metadata, ...rest } = revisionObject(set, { name, number: 3, content: set.spec });
  const own = { uid: "1", resourceVersion: "1", annotations };
  return { ...rest, metadata: { ...metadata, name, ...own } };
};

describe("a ControllerRevision of a set", () => {
  test("belongs to the set and is found by its labels", () => {
    expect(revisionObject(set, { name, number: 3, content: set.spec })).toEqual({
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: {
        namespace: "fleet",
        name,
        labels: setSelectorOf(set),
        ownerReferences: [
          {
            apiVersion: "knfleet.dev/v1alpha1",
            kind: "KnativeServingSet",
            name: "prod",
            uid: "set",
            controller: true,
          },
        ],
      },
      data: { template: { spec: { version: "1.22.0" } }, overrides: [] },
      revision: 3,
    });
  });

  test("gives back its content under the same name", () => {
    const revision = revisionOf(stored({}));
    expect(revision).toEqual({
      name,
      number: 3,
      failed: false,
      content: { template: { spec: { version: "1.22.0" } }, overrides: [] },
    });
    expect(revisionNameOf({ ...set, spec: { ...set.spec, ...revision?.content } })).toBe(name);
  });

  test("keeps the exact versions of its content, and the name depends on them", () => {
    const content = { template: { spec: { version: "1.22" } }, overrides: [] };
    const exact = { ...content, versions: { "1.22": "1.22.1" } };
    const own = revisionNameOf({ ...set, spec: exact });
    expect(own).not.toBe(revisionNameOf({ ...set, spec: content }));
    const object = revisionObject(set, { name: own, number: 1, content: exact });
    const metadata = { ...object.metadata, name: own, uid: "1", resourceVersion: "1" };
    expect(revisionOf({ ...object, metadata })?.content).toEqual(exact);
    const data = { ...content, versions: { "1.22": "1.22.0" } };
    expect(revisionOf({ ...object, metadata, data })).toBeUndefined();
  });

  test("says what became of it", () => {
    const { completed, failedAt, retriedAt } = revisionAnnotations;
    const time = "2026-11-25T12:00:00Z";
    const marks = { [completed]: "2", [failedAt]: time, [retriedAt]: time };
    expect(revisionOf(stored(marks))).toMatchObject({
      completedNumber: 2,
      failed: true,
      retriedAt: time,
    });
  });

  test("is none when something else has written it", () => {
    expect(revisionOf({ ...stored({}), data: undefined })).toBeUndefined();
    expect(revisionOf({ ...stored({}), data: { spec: {} } })).toBeUndefined();
    expect(revisionOf({ ...stored({}), revision: "3" })).toBeUndefined();
    const forged = { template: { spec: { version: "1.0.0" } }, overrides: [] };
    expect(revisionOf({ ...stored({}), data: forged })).toBeUndefined();
  });
});
