import { hasRevision } from "./component-said.ts";
import type { Member, Revision, SetFacts, Stage, Stamp } from "./facts.ts";
import { concurrencyOf } from "./limits.ts";
import { judgedAnew } from "./members.ts";
import { isOpen, type StageProgress } from "./stage-progress.ts";
import { countInFlight, stampsOf } from "./stages.ts";

/** Between which revisions clusters are admitted. */
export interface Admission {
  readonly facts: SetFacts;
  readonly now: number;
  /** The revision that is rolled out. */
  readonly update: Revision;
  /** The one that was completed last. */
  readonly current: Revision | undefined;
}

/** The clusters that start now: those of open stages with the new revision, those that join others before their turn with the last complete one. Pure. */
export function admittedStamps(
  stages: readonly Stage[],
  progress: readonly StageProgress[],
  admission: Admission,
): readonly Stamp[] {
  return stages.flatMap((stage, at) => {
    const step = progress.at(at);
    if (step === undefined) return [];
    if (!isOpen(step.status)) return joinerStamps(stage, admission);
    const { spec } = admission.facts.set;
    const turn = { stage: stage.spec, revision: admission.update, order: spec.rollout?.order };
    return stampsOf(stage.members, turn, step.slots);
  });
}

/** Clusters that join a stage before its turn, or after a rollback, get the revision that was completed last. Spec: sets.md R6. */
export function joinerStamps({ spec, members }: Stage, admission: Admission): readonly Stamp[] {
  const { facts, now, update, current } = admission;
  if (current === undefined || current.name === update.name) return [];
  const isDue = ({ child }: Member): boolean =>
    child === undefined || hasRevision(child, current.name);
  const judgement = { revision: current, now, retriedAt: update.retriedAt };
  const joined = judgedAnew(members.filter(isDue), facts, judgement);
  // Those that have another revision already hold their slots.
  const all = [...joined, ...members.filter((member) => !isDue(member))];
  const slots = concurrencyOf(spec.maxConcurrency, members.length) - countInFlight(all);
  const { order } = facts.set.spec.rollout ?? {};
  return stampsOf(all, { stage: spec, revision: current, order, isDue }, slots);
}
