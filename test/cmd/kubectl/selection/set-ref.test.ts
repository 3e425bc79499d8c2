import { describe, expect, test } from "vitest";

import { UsageError } from "../../../../cmd/kubectl/errors.ts";
import {
  allSetKinds,
  fleetSetKindOf,
  fleetSetRefOf,
  setTitle,
} from "../../../../cmd/kubectl/selection/set-ref.ts";

const [serving, eventing] = allSetKinds;

describe("an argument names a set", () => {
  test.each([
    ["kss/prod", serving],
    ["KSS/prod", serving],
    ["kes/prod", eventing],
    ["knativeservingset/prod", serving],
    ["KnativeEventingSet/prod", eventing],
    ["knativeservingsets/prod", serving],
    ["knativeservingset.knfleet.dev/prod", serving],
    ["knativeeventingsets.v1alpha1.knfleet.dev/prod", eventing],
  ])("%s", (text, kind) => expect(fleetSetRefOf(text)).toEqual({ kind, name: "prod" }));

  test.each(["ks/prod", "prod", "kss", "knativeserving.operator.knative.dev/prod", "/prod", ""])(
    "%s does not",
    (text) => expect(fleetSetRefOf(text)).toBeUndefined(),
  );

  test.each(["kss/", "kss/a/b", "kss/..", "kss/A b"])("%s is refused", (text) =>
    expect(() => fleetSetRefOf(text)).toThrow(UsageError),
  );
});

test("a type alone is a kind of set", () =>
  expect(["kss", "knativeeventingsets", "ks"].map(fleetSetKindOf)).toEqual([
    serving,
    eventing,
    undefined,
  ]));

test("a title is how kubectl writes a name", () =>
  expect(setTitle({ kind: "KnativeEventingSet", name: "prod" })).toBe(
    'knativeeventingsets.knfleet.dev "prod"',
  ));
