import { expect, test } from "vitest";

import { goDurationMs } from "../../api/go-duration.ts";

test.each([
  ["10s", 10_000],
  ["1m30s", 90_000],
  ["500ms", 500],
  ["1.5h", 5_400_000],
  [".5s", 500],
  ["250us", 0.25],
  ["250µs", 0.25],
  ["0", 0],
  ["0s", 0],
  ["-1s", -1_000],
  ["+1s", 1_000],
  ["2562047h", 2_562_047 * 3_600_000],
])("%s is %d ms", (text, ms) => expect(goDurationMs(text)).toBeCloseTo(ms, 9));

test.each(["2562048h", `${"9".repeat(400)}s`, `-${"9".repeat(400)}s`])(
  "%s is longer than Go can tell",
  (text) => expect(goDurationMs(text)).toBeUndefined(),
);

test.each(["", "10", "s", "1s ", " 1s", "1d", "1m30", "1,5s", "1s-1s", "--1s", "1.2.3s"])(
  "%j is no duration",
  (text) => expect(goDurationMs(text)).toBeUndefined(),
);
