import { hasRevision } from "./component-said.ts";
import type { Member, Revision, SetFacts, Stage, Stamp } from "./facts.ts";
import { concurrencyOf } from "./limits.ts";
import { judgedAnew } from "./members.ts";
import { isOpen, type StageProgress } from "./stage-progress.ts";
import { countInFlight, inOrder, isToBegin, stampsOf } from "./stages.ts";

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
    return isOpen(step.status)
      ? firstStamps(stage, admission.update, { slots: step.slots, admission })
      : joinerStamps(stage, admission);
  });
}

/** Clusters that join a stage before its turn, or after a rollback, get the revision that was completed last. Spec: sets.md R6. */
export function joinerStamps({ spec, members }: Stage, admission: Admission): readonly Stamp[] {
  const { facts, now, update, current } = admission;
  if (current === undefined || current.name === update.name) return [];
  const isUpToDate = ({ child }: Member): boolean =>
    child === undefined || hasRevision(child, current.name);
  const anew = judgedAnew(members.filter(isUpToDate), facts, {
    revision: current,
    now,
    retriedAt: update.retriedAt,
  });
  const slots = concurrencyOf(spec.maxConcurrency, members.length) - countInFlight(anew);
  return firstStamps({ spec, members: anew }, current, { slots, admission });
}

/** Stamps for the first pending members in the order of the set, as many as there are slots. */
function firstStamps(
  { spec, members }: Stage,
  revision: Revision,
  { slots, admission }: { readonly slots: number; readonly admission: Admission },
): readonly Stamp[] {
  const pending = members.filter(({ state }) => isToBegin(state));
  if (slots <= 0 || pending.length === 0) return [];
  const order = admission.facts.set.spec.rollout?.order ?? "Hashed";
  return stampsOf(inOrder(pending, order, revision.name), { stage: spec, revision }, slots);
}
