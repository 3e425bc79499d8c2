import { describe, expect, test } from "vitest";

import { accessCases } from "./access-cases.ts";
import { accessVerdict } from "./access-report.ts";
import { recordedIdentities } from "./recorded-identities.ts";

const signal = new AbortController().signal;
const cases = await accessCases();
const identities = recordedIdentities();

describe("the recorded cases of the credential path", () => {
  test("are all there", () => expect(cases).toHaveLength(376));

  test.each(cases)("$name is equal, or better", async (one) => {
    const verdict = await accessVerdict(one, identities, signal);
    expect(verdict.details).toBe("");
  });
});
