import { describe, expect, test } from "vitest";

import { fieldChanges } from "../../../../cmd/kubectl/compare/comparable.ts";
import {
  keepShape,
  maskSecrets,
  neat,
  withoutMarks,
} from "../../../../cmd/kubectl/compare/neat.ts";

describe("the fields in which two values differ", () => {
  test.each([
    ["equal", { a: 1 }, { a: 1 }, []],
    ["a value", { a: { b: 1 } }, { a: { b: 2 } }, [{ path: ".a.b", live: 1, wanted: 2 }]],
    ["only here", { a: 1 }, {}, [{ path: ".a", live: 1, wanted: null }]],
    ["only there", {}, { "a.b/c": 1 }, [{ path: "['a.b/c']", live: null, wanted: 1 }]],
    [
      "an item by its name",
      [{ name: "x", v: 1 }, { name: "y" }],
      [{ name: "y" }, { name: "x", v: 2 }],
      [{ path: "[x].v", live: 1, wanted: 2 }],
    ],
    ["an item by its place", ["a"], ["b"], [{ path: "[0]", live: "a", wanted: "b" }]],
    [
      "the order alone",
      [{ name: "x" }, { name: "y" }],
      [{ name: "y" }, { name: "x" }],
      [
        {
          path: ".",
          live: [{ name: "x" }, { name: "y" }],
          wanted: [{ name: "y" }, { name: "x" }],
        },
      ],
    ],
    ["another type", { a: [1] }, { a: { b: 1 } }, [{ path: ".a", live: [1], wanted: { b: 1 } }]],
  ] as const)("%s", (...[, live, wanted, changes]) => {
    expect(fieldChanges(live, wanted)).toEqual(changes);
  });
});

const secret = (data: object) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "a",
    uid: "1",
    resourceVersion: "7",
    managedFields: [],
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": "c2VjcmV0" },
  },
  ...data,
});

describe("values of a Secret", () => {
  test("are not shown, but that they differ is", () => {
    const sides = maskSecrets({
      live: neat(secret({ data: { same: "c2VjcmV0", other: "b25l", gone: "eA==" } })),
      wanted: neat(secret({ data: { same: "c2VjcmV0", other: "dHdv", made: "eQ==" } })),
    });
    expect(sides.live?.["data"]).toEqual({ same: "***", other: "*** (before)", gone: "***" });
    expect(sides.wanted?.["data"]).toEqual({ same: "***", other: "*** (after)", made: "***" });
    expect(JSON.stringify(sides)).not.toContain("c2VjcmV0");
  });

  test("are hidden in stringData and in a field of a wrong type, too", () => {
    const { wanted } = maskSecrets({
      live: undefined,
      wanted: secret({ data: "c2VjcmV0", stringData: { a: "plain" } }),
    });
    expect(wanted).toMatchObject({ data: "***", stringData: { a: "***" } });
  });

  test("of a kind of that name in another group are what they are", () => {
    const other = { ...secret({ data: { a: "b" } }), apiVersion: "example.com/v1" };
    expect(maskSecrets({ live: other, wanted: undefined }).live).toBe(other);
  });
});

test("marks are labels of ours and owners", () => {
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y" }];
  const labels = { "knfleet.dev/component-uid": "1", app: "a" };
  const metadata = { name: "a", labels, ownerReferences };
  const plain = withoutMarks({ apiVersion: "v1", kind: "ConfigMap", metadata });
  expect(plain.metadata).toEqual({ name: "a", labels: { app: "a" } });
});

describe("the part of a value that a shape has, too", () => {
  test.each([
    ["fields", { a: 1, foreign: 2 }, [{ a: 5 }], { a: 1 }],
    ["of any shape", { a: 1, b: 2, c: 3 }, [{ a: 0 }, { b: 0 }], { a: 1, b: 2 }],
    [
      "items by their name",
      { env: [{ name: "x", value: "1", more: 2 }, { name: "injected" }] },
      [{ env: [{ name: "x", value: "0" }] }],
      { env: [{ name: "x", value: "1" }] },
    ],
    [
      "items by their port",
      [{ port: 80, nodePort: 30_000 }, { port: 81 }],
      [[{ port: 80 }]],
      [{ port: 80 }],
    ],
    ["lists of words as a whole", { args: ["a", "b"] }, [{ args: ["c"] }], { args: ["a", "b"] }],
  ] as const)("%s", (...[, value, shapes, part]) => {
    expect(keepShape(value, shapes)).toEqual(part);
  });
});
