import { expect, test } from "vitest";

import { shownAge } from "../../../../cmd/kubectl/page/shown-age.ts";

const now = new Date("2026-11-29T14:00:00Z");

test.each([
  ["2026-11-29T14:00:09Z", "0s"],
  ["2026-11-29T13:59:20Z", "40s"],
  [null, "<unknown>"],
  ["no time", "<unknown>"],
])("the age of %j on the page is %s, and never invalid", (since, age) => {
  expect(shownAge(since, now)).toBe(age);
});
