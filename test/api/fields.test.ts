import { assert, jsonValue, property } from "fast-check";
import { expect, test } from "vitest";

import { canonicalJson, isContained, isRecord } from "../../api/fields.ts";

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).toReversed();
  return Object.fromEntries(fields.map(([name, field]) => [name, reversed(field)]));
}

test("the order of keys does not matter, and nothing is lost", () => {
  assert(
    property(jsonValue({ maxDepth: 5 }), (value) => {
      const text = canonicalJson(value);
      expect(canonicalJson(reversed(value))).toBe(text);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("an undefined entry of a list is the same text whatever else has to be sorted", () => {
  const text = '[null,{"a":1,"b":2}]';
  expect(canonicalJson([undefined, { a: 1, b: 2 }])).toBe(text);
  expect(canonicalJson([undefined, { b: 2, a: 1 }])).toBe(text);
});

test("the order of a list does", () => {
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
});

test.each([
  ["keys by code units", { "f:b": {}, "f:B": {}, "f:a": {} }, '{"f:B":{},"f:a":{},"f:b":{}}'],
  ["an undefined field left out", { a: undefined, b: null }, '{"b":null}'],
  ["undefined itself", undefined, "undefined"],
  [
    "a large number as it was",
    { a: JSON.rawJSON("12345678901234567890") },
    '{"a":12345678901234567890}',
  ],
])("%s", (_what, value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

test.each([
  { live: undefined, desired: [], has: true },
  { live: undefined, desired: ["a"], has: false },
  { live: null, desired: [], has: false },
  { live: [], desired: [], has: true },
  { live: ["a", "b"], desired: ["a"], has: false },
  { live: [{ a: 1, b: 2 }], desired: [{ a: 1 }], has: true },
  { live: undefined, desired: { a: 1 }, has: false },
  { live: null, desired: { a: 1 }, has: false },
  { live: "a", desired: "a", has: true },
])("$live has what is desired in $desired: $has", ({ live, desired, has }) => {
  expect(isContained(desired, live)).toBe(has);
});

test.each([
  ["what the server fills in", [{ a: 1, more: {} }, { a: 1 }], true],
  ["another value", [{ a: 2 }, { a: 1 }], false],
  ["a missing field", [{}, { a: 1 }], false],
  ["an entry too many in a list", [{ a: [1, 2] }, { a: [1] }], false],
  ["a list in another order", [{ a: [2, 1] }, { a: [1, 2] }], false],
  ["fields inside of lists", [{ a: [{ b: 1, c: 2 }] }, { a: [{ b: 1 }] }], true],
  ["nothing at all", [undefined, { a: 1 }], false],
] as const)("%s: an object has the desired fields", (_what, [live, wanted], same) => {
  expect(isContained(wanted, live)).toBe(same);
});
