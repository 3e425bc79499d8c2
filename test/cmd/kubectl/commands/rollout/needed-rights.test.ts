import { expect, test } from "vitest";

import { rightsToApply } from "../../../../../cmd/kubectl/commands/rollout/needed-rights.ts";
import { sampleSet } from "./sample-set.ts";

const { signal } = new AbortController();
const template = {
  spec: { containers: [{ name: "a", image: "b" }], restartPolicy: "Never" },
} as const;
const checks = [
  { name: "smoke", noData: "Fail", job: { activeDeadlineSeconds: 60, backoffLimit: 0, template } },
  {
    name: "gate",
    noData: "Fail",
    webhook: { url: "https://gate.example", secretName: "knfleet-check-gate" },
  },
] as const;

test("checks need the right to what they run and to what they send", async () => {
  const stored = sampleSet();
  const { rollout } = stored.spec;
  if (rollout === undefined) throw new Error("The sample has stages");
  const set = sampleSet({ spec: { rollout: { ...rollout, verify: { checks } } } });
  expect(await rightsToApply(set, stored, signal)).toEqual([
    'get Secret "knfleet-check-gate" in namespace "platform" (spec.rollout.verify.checks[1].webhook.secretName)',
    '"run-jobs" on the clusters of KnativeServingSet "platform/prod" (spec.rollout.verify.checks[0].job)',
  ]);
  expect(await rightsToApply(stored, stored, signal)).toEqual([]);
});
