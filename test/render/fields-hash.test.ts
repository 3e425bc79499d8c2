import { expect, test } from "vitest";

import { hashOf } from "../../render/fields.ts";

test.each([
  { a: { x: 1, y: [1, 2] }, b: { y: [1, 2], x: 1 }, same: true },
  { a: { x: 1, y: undefined }, b: { x: 1 }, same: true },
  { a: [{ x: 1, y: 2 }], b: [{ y: 2, x: 1 }], same: true },
  { a: [1, 2], b: [2, 1], same: false },
  { a: { x: 1 }, b: { x: "1" }, same: false },
  { a: { x: null }, b: {}, same: false },
])("$a and $b have the same hash: $same", ({ a, b, same }) => {
  expect(hashOf(a) === hashOf(b)).toBe(same);
});
