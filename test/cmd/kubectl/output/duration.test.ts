import { expect, test } from "vitest";

import { parseDurationMs, spanMsOf } from "../../../../cmd/kubectl/output/duration.ts";

test.each([
  ["500ms", 500],
  ["10s", 10_000],
  ["1m30s", 90_000],
  ["1.5s", 1500],
  ["2h", 7_200_000],
  ["10", 10_000],
  ["0", 0],
  ["0s", 0],
])("%s is %d ms", (text, spanMs) => expect(parseDurationMs(text, "--timeout")).toBe(spanMs));

test.each(["", "s", "-1s", "10 s", "1d", "10s!", "1s2", "25h", "1e3s", "NaN"])(
  "%j is refused with the flag's name",
  (text) => expect(() => parseDurationMs(text, "--timeout")).toThrow(/--timeout/),
);

test.each(["25h", "1441m", "86401"])("%s is refused with the limit", (text) =>
  expect(() => parseDurationMs(text, "--timeout")).toThrow(
    `"${text}" for --timeout: want at most 24h`,
  ),
);

test.each([
  ["14d", 14 * 86_400_000],
  ["2h", 7_200_000],
  ["-1h", -3_600_000],
  ["1d2h", undefined],
  ["d", undefined],
  ["7", undefined],
  [`${"9".repeat(400)}h`, undefined],
])("the span %s, which may be of days, is %s ms", (text, spanMs) =>
  expect(spanMsOf(text)).toBe(spanMs),
);
