import { expect, test } from "vitest";

import type { KnfCode } from "../../../../api/knf/knf-codes.ts";
import { conditionTone } from "../../../../cmd/kubectl/output/condition-tone.ts";

test.each<[string, string, KnfCode | null, string]>([
  ["Ready", "True", null, "good"],
  ["DeploymentsAvailable", "True", "KNF6015", "warning"],
  ["DeploymentsAvailable", "False", "KNF6008", "progress"],
  ["Ready", "False", "KNF6008", "progress"],
  ["Ready", "Unknown", "KNF6008", "progress"],
  ["InstallSucceeded", "Unknown", "KNF4009", "warning"],
  ["InstallSucceeded", "False", "KNF1018", "bad"],
  ["AnchorProtected", "False", null, "warning"],
  ["Stalled", "True", null, "bad"],
  ["Stalled", "False", null, "good"],
  ["Contested", "True", "KNF6007", "bad"],
  ["Reconciling", "True", null, "progress"],
])("the tone of %s=%s with %s is %s", (type, status, code, tone) => {
  expect(conditionTone({ type, status, code })).toBe(tone);
});
