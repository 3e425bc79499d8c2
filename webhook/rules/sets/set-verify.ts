import type { VerifySpec } from "../../../api/fleet-set.ts";
import { goDurationMs } from "../../../api/go-duration.ts";
import { leastIntervalMs, workloadsCheck } from "../../../sets/verify.ts";
import { below, type Problem, problemIf, quoteValue } from "../rule.ts";
import { durationProblems } from "./set-rollout.ts";
import type { SetCheck } from "./set-rule.ts";

const at = below("spec", "rollout");

/** Refuses checks of a rollout that can never be good, and a name that is taken. */
export const verify: SetCheck = ({ spec }) => {
  const { verify: ofAll, stages = [] } = spec.rollout ?? {};
  return [
    ...verifyProblems(ofAll, below(at, "verify")),
    ...stages.flatMap((stage, index) =>
      verifyProblems(stage.verify, below(at, "stages", index, "verify")),
    ),
  ];
};

function verifyProblems(
  { workloads, checks = [] }: Partial<VerifySpec> = {},
  path: string,
): readonly Problem[] {
  return [
    ...durationProblems(workloads?.within, below(path, "workloads", "within")),
    ...checks.flatMap((check, index) => {
      const where = below(path, "checks", index);
      const { min = -Infinity, max = Infinity } = check.prometheus;
      const intervalMs = goDurationMs(check.interval ?? "") ?? leastIntervalMs;
      return [
        ...durationProblems(check.for, below(where, "for")),
        ...durationProblems(check.interval, below(where, "interval")),
        ...problemIf(
          intervalMs < leastIntervalMs,
          below(where, "interval"),
          `must be at least ${leastIntervalMs / 1_000}s`,
        ),
        ...problemIf(
          check.name === workloadsCheck,
          below(where, "name"),
          `${quoteValue(workloadsCheck)} is the name of the check of verify.workloads`,
        ),
        ...problemIf(
          min > max,
          below(where, "prometheus", "min"),
          `must not be more than max, which is ${max}`,
        ),
      ];
    }),
  ];
}
