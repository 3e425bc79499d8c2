import { expect, test } from "vitest";

import { compareWithJudged } from "./judged.ts";

const survivor = {
  file: "a.ts",
  lineNumber: 3,
  line: "if (a < b) go();",
  change: "a < b → a <= b",
};
const { lineNumber: _, ...place } = survivor;
const entry = { ...place, reason: "a is never b" };

test("a judged survivor is left out, on whichever line it is", () => {
  const moved = { ...survivor, lineNumber: 9 };
  const files = new Set(["a.ts"]);
  expect(compareWithJudged([moved], [entry], files)).toEqual({ open: [], outdated: [] });
});

test.each([
  { field: "file", value: "b.ts" },
  { field: "line", value: "if (a < b) stop();" },
  { field: "change", value: "a < b → true" },
])("a survivor with another $field is not judged", ({ field, value }) => {
  const other = { ...survivor, [field]: value };
  const files = new Set(["a.ts", "b.ts"]);
  expect(compareWithJudged([other], [entry], files)).toEqual({ open: [other], outdated: [entry] });
});

test("a judged survivor of a file that was not changed says nothing", () => {
  expect(compareWithJudged([], [entry], new Set(["b.ts"]))).toEqual({ open: [], outdated: [] });
});
