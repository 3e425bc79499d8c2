import { expect, test } from "vitest";

import { slowSince, watchEventLoop } from "../../webhook/readiness.ts";

test.each([
  [undefined, 100, undefined],
  [undefined, 501, 50_000],
  [40_000, 501, 40_000],
  [40_000, 499, undefined],
])("a loop that was slow since %s and is %s ms late is slow since %s", (before, p99Ms, since) => {
  expect(slowSince(before, { p99Ms, nowMs: 50_000 })).toBe(since);
});

test("a loop that has just begun to be watched is not slow", () => {
  using watch = watchEventLoop();
  expect(watch.isSlow()).toBe(false);
});
