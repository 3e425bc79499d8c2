import { expect, test } from "vitest";

import { checkTimeMs } from "../../../access/spokes/spoke-connection.ts";

test.each([
  { after: "trouble", isQuiet: false, seconds: [3, 7, 10, 10, 10] },
  { after: "silence", isQuiet: true, seconds: [7, 3, 10, 10, 10] },
])("C10: after $after a server is asked for $seconds s", ({ isQuiet, seconds }) => {
  expect(seconds.map((_, failures) => checkTimeMs(isQuiet, failures) / 1_000)).toEqual(seconds);
});
