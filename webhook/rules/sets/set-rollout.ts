import { isSameJson } from "../../../api/fields.ts";
import type { StageSpec } from "../../../api/fleet-set.ts";
import { goDurationMs } from "../../../api/go-duration.ts";
import { type Window, windowProblem } from "../../../sets/limits.ts";
import { unmatchedStage } from "../../../sets/stages.ts";
import { keyProblem, valueProblem } from "../names.ts";
import { below, type Problem, problemAt, problemIf, quoteValue } from "../rule.ts";
import type { SetCheck } from "./set-rule.ts";

const at = below("spec", "rollout");

/** Refuses windows whose cron expression is invalid or never matches, and unknown time zones. */
export const windows: SetCheck = ({ spec }) => {
  const { windows: ofAll = [], stages = [] } = spec.rollout ?? {};
  return [
    ...windowProblems(ofAll, below(at, "windows")),
    ...stages.flatMap(({ before }, index) =>
      windowProblems(before?.windows ?? [], below(at, "stages", index, "before", "windows")),
    ),
  ];
};

function windowProblems(list: readonly Window[], path: string): readonly Problem[] {
  return list.flatMap((window, index) => {
    const problem = windowProblem(window);
    if (problem === undefined) return [];
    const value = quoteValue(window[problem.field]);
    return problemAt(below(path, index, problem.field), `${problem.message} (is ${value})`);
  });
}

/** Refuses an order by an invalid label key, and a set that waits for itself. */
export const order: SetCheck = ({ kind, name, spec }) => {
  const { order: chosen = "", after } = spec.rollout ?? {};
  const isOwn = after?.kind === kind && after.name === name;
  const own = problemIf(isOwn, below(at, "after"), "must be another set than this one");
  if (!chosen.startsWith("Label:")) return own;
  return [...own, ...problemAt(below(at, "order"), keyProblem(chosen.slice("Label:".length)))];
};

const longestMs = 8_760 * 3_600_000;

/** Refuses durations longer than a year, and a progressDeadline of zero. */
export const durations: SetCheck = ({ spec }) => {
  const { progressDeadline = "None", stages = [] } = spec.rollout ?? {};
  return [
    ...durationProblems(spec.whenUnselected?.after, below("spec", "whenUnselected", "after")),
    ...stages.flatMap(({ after }, index) =>
      durationProblems(after?.soak, below(at, "stages", index, "after", "soak")),
    ),
    ...(progressDeadline === "None"
      ? []
      : [
          ...durationProblems(progressDeadline, below(at, "progressDeadline")),
          ...problemIf(
            goDurationMs(progressDeadline) === 0,
            below(at, "progressDeadline"),
            "must be longer than 0s; None is no deadline",
          ),
        ]),
  ];
};

/** The problem of a duration that is none, or that is longer than a year. */
export function durationProblems(text: string | undefined, path: string): readonly Problem[] {
  if (text === undefined) return [];
  const ms = goDurationMs(text);
  const message = `must be a duration such as 1h30m, at most 8760h (is ${quoteValue(text)})`;
  return problemIf(ms === undefined || ms > longestMs, path, message);
}

/** Refuses names of stages that cannot be the value of a label, and the reserved name `unmatched`. */
export const stageNames: SetCheck = ({ spec }) =>
  (spec.rollout?.stages ?? []).flatMap(({ name }, index) => {
    const path = below(at, "stages", index, "name");
    return [
      ...problemAt(path, valueProblem(name)),
      ...problemIf(
        name === unmatchedStage,
        path,
        `${unmatchedStage} is the stage of the clusters that no other stage has`,
      ),
    ];
  });

/** Warns of a stage that never has a cluster, because an earlier stage takes all of them. */
export const emptyStages: SetCheck = ({ spec }) => {
  const stages = spec.rollout?.stages ?? [];
  return stages.flatMap((stage, index) => {
    const first = stages.slice(0, index).find((earlier) => takesAll(earlier, stage));
    const message = `never has a cluster: stage ${quoteValue(first?.name)} before it takes them all`;
    return problemIf(first !== undefined, below(at, "stages", index), message);
  });
};

function takesAll({ selector, decisionGroup }: StageSpec, later: StageSpec): boolean {
  if (decisionGroup !== undefined) return decisionGroup === later.decisionGroup;
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [], matchProperties = [] } = selector;
  const conditions = [...Object.keys(matchLabels), ...matchExpressions, ...matchProperties];
  const isEmpty = conditions.length === 0;
  return isEmpty || isSameJson(selector, later.selector);
}
