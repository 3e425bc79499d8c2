import { expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";

const now = new Date("2026-02-03T04:05:06Z");
const told = "spec.config changes nothing for a, b: nothing that is installed has such a ConfigMap";
const job = "Job ns/a failed: BackoffLimitExceeded";

type Applied = Extract<Outcome, { kind: "applied" }>;

function applied(fields: Partial<Applied> = {}): Applied {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [] },
    readiness: { available: true, message: "" },
    ...fields,
  };
}

function said(...outcomes: readonly Outcome[]) {
  let status = serving().status;
  for (const outcome of outcomes) status = statusOf(serving({ status }), outcome, now);
  const install = conditionOf(status?.conditions, "InstallSucceeded");
  const ready = conditionOf(status?.conditions, "Ready");
  return [install?.status, install?.message, ready?.status];
}

test("entries of spec.config that change nothing are told in the condition, and Ready is True", () => {
  const unusedConfig = ["a", "b"];
  expect(said(applied({ unusedConfig }))).toEqual(["True", told, "True"]);
  expect(said(applied({ unusedConfig }), applied())).toEqual(["True", undefined, "True"]);
  const both = applied({ unusedConfig, failedJobs: [job] });
  expect(said(both)).toEqual(["True", `${job}; ${told}`, "True"]);
});

test("they are told beside the progress while an installation begins", () => {
  const readiness = { available: false, message: "1 of 9 not available: webhook (missing)" };
  const beginning = applied({ readiness, unusedConfig: ["a", "b"] });
  expect(said(beginning)).toEqual(["Unknown", `150 of 150 objects applied; ${told}`, "False"]);
});
