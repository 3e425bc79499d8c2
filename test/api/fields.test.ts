import { assert, jsonValue, property } from "fast-check";
import { expect, test } from "vitest";

import { canonicalJson, isRecord } from "../../api/fields.ts";

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
