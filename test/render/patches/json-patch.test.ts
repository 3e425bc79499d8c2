import { describe, expect, test } from "vitest";

import { jsonPatched } from "../../../render/patches/json-patch.ts";

const document = { a: { list: [1, 2, 3], "x/y": 1, "m~n": 2 }, n: null };

describe("a JSON patch", () => {
  test.each([
    ["adds at the end", [{ op: "add", path: "/a/list/-", value: 4 }], [1, 2, 3, 4]],
    ["adds after the last one", [{ op: "add", path: "/a/list/3", value: 4 }], [1, 2, 3, 4]],
    ["adds from the end", [{ op: "add", path: "/a/list/-2", value: 4 }], [1, 2, 4, 3]],
    ["replaces from the end", [{ op: "replace", path: "/a/list/-1", value: 4 }], [1, 2, 4]],
    ["removes from the end", [{ op: "remove", path: "/a/list/-3" }], [2, 3]],
    ["moves in a list", [{ op: "move", from: "/a/list/0", path: "/a/list/2" }], [2, 3, 1]],
    ["copies", [{ op: "copy", from: "/a/list/-1", path: "/a/list/0" }], [3, 1, 2, 3]],
  ])("%s", (_name, patch, list) => {
    expect(jsonPatched(document, patch)).toEqual({ ...document, a: { ...document.a, list } });
    expect(document.a.list).toEqual([1, 2, 3]);
  });

  test("finds names with escaped signs", () => {
    const patch = [
      { op: "test", path: "/a/x~1y", value: 1 },
      { op: "remove", path: "/a/m~0n" },
    ];
    expect(jsonPatched(document, patch)).toEqual({ a: { list: [1, 2, 3], "x/y": 1 }, n: null });
  });

  test.each([
    { op: "test", path: "/a/list/-1", value: 3 },
    { op: "test", path: "/a/list/-3", value: 1 },
    { op: "test", path: "/a/list/0", value: 1 },
  ])("finds the right value: %o", (operation) => {
    expect(jsonPatched(document, [operation])).toEqual(document);
  });

  test.each([
    { op: "test", path: "/absent", value: null },
    { op: "test", path: "/a/list/9", value: null },
    { op: "test", path: "/n" },
  ])("takes what is absent for null: %o", (operation) => {
    expect(jsonPatched(document, [operation])).toEqual(document);
  });

  test.each([
    { op: "replace", path: "/absent", value: 1 },
    { op: "remove", path: "/absent" },
    { op: "add", path: "/a/list/4", value: 1 },
    { op: "add", path: "/a/list/-5", value: 1 },
    { op: "add", path: "/a/list/x", value: 1 },
    { op: "replace", path: "/a/list/3", value: 1 },
    { op: "replace", path: "/a/list/-4", value: 1 },
    { op: "replace", path: "/a/list/-", value: 1 },
    { op: "add", path: "/absent/x", value: 1 },
    { op: "move", from: "/absent", path: "/b" },
    { op: "move", from: "/a", path: "/a/b" },
    { op: "copy", from: "/absent", path: "/b" },
    { op: "add", path: "/a/x~1y/z", value: 1 },
    { op: "test", path: "/a/list/0", value: "1" },
    { op: "test", path: "/a/list/-1", value: 1 },
    { op: "test", path: "/a/list/-4", value: 1 },
  ])("does not apply: %o", (operation) => {
    expect(() => jsonPatched(document, [operation])).toThrow(/^apply JSON patch: .*/);
  });

  test.each([
    [{ op: "merge", path: "/a" }],
    [{ op: "add", path: "/a" }],
    [{ op: "add", value: 1 }],
    [{ op: "copy", path: "/a" }],
    [{ op: "add", path: "/__proto__/x", value: 1 }],
    ["add"],
  ])("is none: %o", (operation) => {
    expect(() => jsonPatched(document, [operation])).toThrow(
      /^decode JSON patch: operation 0 has |is no object$/,
    );
  });

  test("grows no document without limit", () => {
    const copies = Array.from({ length: 40 }, (_, at) => ({
      op: "copy",
      from: "",
      path: `/c${at}`,
    }));
    expect(() => jsonPatched(document, copies)).toThrow(
      "apply JSON patch: copies more than 1.5 MiB",
    );
  });
});
