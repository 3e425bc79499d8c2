import { describe, expect, test } from "vitest";

import { accessCases } from "./access-cases.ts";
import { accessVerdict, isResolution } from "./access-report.ts";

const signal = new AbortController().signal;
const cases = (await accessCases()) ?? [];

describe.runIf(cases.length > 0)("the recorded cases of the credential path", () => {
  test.each(cases.filter(isResolution))("resolve $name", async (one) => {
    const verdict = await accessVerdict(one, signal);
    expect(verdict.details).toBe("");
  });
});
