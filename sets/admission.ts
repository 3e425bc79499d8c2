import { hasRevision } from "./component-condition.ts";
import type { Member, Revision, SetFacts, Stage, Stamp } from "./facts.ts";
import { openingOf } from "./limits.ts";
import { judgedAnew } from "./members.ts";
import { isOpen, type StageProgress } from "./stage-progress.ts";
import { freeSlotsOf, isToBegin, stampsOf } from "./stages.ts";
import type { StageLimits } from "./tally.ts";

/** The facts and revisions by which clusters are admitted. */
export interface Admission {
  readonly facts: SetFacts;
  readonly now: number;
  /** The revision that is rolled out. */
  readonly update: Revision;
  /** The revision that was completed last. */
  readonly current: Revision | undefined;
}

/** The stamps of clusters that start now, and the times at which others may start, in ms since the epoch. */
interface Admitted {
  readonly stamps: readonly Stamp[];
  readonly nextDecisionsAt: readonly (number | undefined)[];
}

export const noneAdmitted: Admitted = { stamps: [], nextDecisionsAt: [] };

/** The clusters that start now. Clusters of open stages get the update revision, and clusters that join any other stage get the current one. Pure. */
export function admittedStamps(
  stages: readonly Stage[],
  progress: readonly StageProgress[],
  admission: Admission,
): Admitted {
  const isUncertain = stages.some(({ members }) => members.some(({ state }) => state.isUncertain));
  if (isUncertain) return noneAdmitted;
  const { order } = admission.facts.set.spec.rollout ?? {};
  const all = stages.map((stage, at): Admitted => {
    const step = progress.at(at);
    if (step === undefined) return noneAdmitted;
    if (!isOpen(step.status)) return joinerStamps(stage, step.limits, admission);
    const turn = { stage: stage.spec, revision: admission.update, order };
    return { stamps: stampsOf(stage.members, turn, step.slots), nextDecisionsAt: [] };
  });
  return {
    stamps: all.flatMap(({ stamps }) => stamps),
    nextDecisionsAt: all.flatMap(({ nextDecisionsAt }) => nextDecisionsAt),
  };
}

/** The stamps of clusters that join a stage which is not open. They get the current revision, within all limits of the stage. Spec: sets.md R6. */
function joinerStamps(
  { spec, members }: Stage,
  limits: StageLimits,
  { facts, now, update, current }: Admission,
): Admitted {
  if (current === undefined || current.name === update.name) return noneAdmitted;
  if (limits.hasTooManyUnreachable) return noneAdmitted;
  const isDue = ({ child }: Member): boolean =>
    child === undefined || hasRevision(child, current.name);
  const judgement = { revision: current, now, retriedAt: update.retriedAt };
  const joined = judgedAnew(members.filter(isDue), facts, judgement);
  if (!joined.some(({ state }) => isToBegin(state))) return noneAdmitted;
  // Members with another revision keep the slots that they hold.
  const all = [...joined, ...members.filter((member) => !isDue(member))];
  const failed = all.filter(({ state: { name } }) => name === "Failed" || name === "TimedOut");
  if (failed.length > limits.maxFailures) return noneAdmitted;
  const { order, windows = [] } = facts.set.spec.rollout ?? {};
  const { isOpen: isInWindow, changesAt } = openingOf(spec.before?.windows ?? windows, now);
  if (!isInWindow) return { stamps: [], nextDecisionsAt: [changesAt] };
  const slots = freeSlotsOf(all, limits);
  const turn = { stage: spec, revision: current, order, isDue };
  return { stamps: stampsOf(all, turn, slots), nextDecisionsAt: [] };
}
