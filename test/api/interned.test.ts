import { expect, test } from "vitest";

import { interned } from "../../api/interned.ts";

test.each([
  "",
  "name",
  "__proto__",
  "constructor",
  "12",
  "-1",
  "a|b|c",
  "ü\u{1f600}",
  "x".repeat(5_000),
])("%j is itself", (text) => {
  expect(interned(text)).toBe(text);
  expect(interned(`${text}${text}`.slice(text.length))).toBe(text);
});
