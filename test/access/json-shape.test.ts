import { assert, integer, jsonValue, property } from "fast-check";
import { describe, expect, test } from "vitest";

import { JsonShape } from "../../access/json.ts";

const wide = { depth: 1_000, values: 1_000 };

/** What a text exceeds, taken in parts of a size. */
function excessOf(text: string, limits = wide, size = text.length) {
  const bytes = Buffer.from(text);
  const shape = new JsonShape(limits);
  for (let at = 0; at < bytes.length; at += size) {
    const excess = shape.take(bytes.subarray(at, at + size));
    if (excess !== undefined) return excess;
  }
  return undefined;
}

describe("the shape of a JSON text", () => {
  test.each([
    ['[{"a":1}]', 1, "depth"],
    ['[{"a":1}]', 2, undefined],
    ["[[[]],[[]]]", 3, undefined],
    ['{"a":"[[[[{{{{"}', 1, undefined],
    [String.raw`{"a":"\"[[[","b":[]}`, 1, "depth"],
    [String.raw`{"a":"\\","b":[]}`, 2, undefined],
    [String.raw`{"a":"\\","b":[[]]}`, 2, "depth"],
  ])("%s within %i levels exceeds %s", (text, depth, excess) => {
    for (let size = 1; size <= text.length; size += 1) {
      expect(excessOf(text, { ...wide, depth }, size)).toBe(excess);
    }
  });

  test.each([
    ["[1,2,3]", 3, undefined],
    ["[1,2,3]", 2, "values"],
    ["[[],[],[]]", 5, "values"],
    ['["1,2,3,4,5"]', 1, undefined],
  ])("%s within %i values exceeds %s", (text, values, excess) => {
    for (let size = 1; size <= text.length; size += 1) {
      expect(excessOf(text, { ...wide, values }, size)).toBe(excess);
    }
  });

  test("is the one of the parsed value, however the text is cut", () => {
    assert(
      property(jsonValue({ maxDepth: 6 }), integer({ min: 1, max: 9 }), (value, size) => {
        const text = JSON.stringify(value);
        const depth = depthOf(value);
        expect(excessOf(text, { ...wide, depth }, size)).toBeUndefined();
        expect(depth === 0 || excessOf(text, { ...wide, depth: depth - 1 }, size) === "depth").toBe(
          true,
        );
      }),
    );
  });

  test("begins anew after a restart", () => {
    const shape = new JsonShape({ depth: 1, values: 10 });
    expect(shape.take(Buffer.from('["unfinished'))).toBeUndefined();
    shape.restart();
    expect(shape.take(Buffer.from('["a"]'))).toBeUndefined();
  });
});

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
