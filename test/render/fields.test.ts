import { describe, expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { changeField, setEntries } from "../../render/fields.ts";

const object = (spec: unknown): Manifest => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "a", namespace: "b" },
  spec,
});
const invalid = expect.objectContaining({
  reason: "ManifestInvalid",
  message: expect.stringMatching(/^Thing b\/a has /),
});

describe("changing a field", () => {
  test.each([
    { before: { a: { b: 1 } }, path: ["a", "b"], after: { a: { b: "new" } } },
    {
      before: { a: [{ b: 1 }, { c: 2 }] },
      path: ["a", "*", "b"],
      after: { a: [{ b: "new" }, { c: 2 }] },
    },
    { before: { a: null }, path: ["a", "b"], after: { a: null } },
    { before: {}, path: ["a", "*", "b"], after: {} },
    { before: { a: [null] }, path: ["a", "*", "b"], after: { a: [null] } },
  ])("in $before at $path gives $after", ({ before, path, after }) => {
    expect(changeField(object(before), ["spec", ...path], () => "new")).toEqual(object(after));
  });

  test("gives the same object when nothing changes", () => {
    const manifest = object({ a: [{ b: 1 }] });
    expect(changeField(manifest, ["spec", "a", "*", "b"], (value) => value)).toBe(manifest);
    expect(changeField(manifest, ["data", "x"], () => "new")).toBe(manifest);
    expect(changeField(manifest, ["spec", "toString"], () => "new")).toBe(manifest);
  });

  test.each([
    { spec: { a: "text" }, path: ["a", "b"] },
    { spec: { a: [1] }, path: ["a", "b"] },
    { spec: { a: {} }, path: ["a", "*"] },
    { spec: { a: ["text"] }, path: ["a", "*", "b"] },
  ])("in $spec at $path says that the object is invalid", ({ spec, path }) => {
    expect(() => changeField(object(spec), ["spec", ...path], () => "new")).toThrow(invalid);
  });
});

describe("setting entries", () => {
  test.each([
    { before: undefined, after: { a: { x: 1 } } },
    { before: { a: null }, after: { a: { x: 1 } } },
    { before: { a: { x: 0, y: 2 }, b: 3 }, after: { a: { x: 1, y: 2 }, b: 3 } },
  ])("in $before gives $after", ({ before, after }) => {
    expect(setEntries(object(before), ["spec", "a"], { x: 1 })).toEqual(object(after));
  });

  test("gives the same object when all are there, or none are set", () => {
    const manifest = object({ a: { x: 1, y: 2 } });
    expect(setEntries(manifest, ["spec", "a"], { x: 1 })).toBe(manifest);
    expect(setEntries(manifest, ["spec", "none"], {})).toBe(manifest);
  });

  test.each([{ spec: "text" }, { spec: { a: "text" } }, { spec: { a: [] } }])(
    "in $spec says that the object is invalid",
    ({ spec }) => {
      expect(() => setEntries(object(spec), ["spec", "a"], { x: 1 })).toThrow(invalid);
    },
  );
});
