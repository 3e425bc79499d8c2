import { type RolloutPhase, steering } from "../api/fleet-set.ts";
import { nameFirst } from "../api/kubernetes.ts";
import { type Admission, admittedStamps, noneAdmitted } from "./admission.ts";
import {
  type Decision,
  noRemovals,
  type Revision,
  type RevisionMark,
  type SelectedCluster,
  type SetFacts,
  type Stage,
  type Stamp,
} from "./facts.ts";
import { deadlineTimes, stagesWith } from "./members.ts";
import { countLeaving, planDeletion, planRemovals, type RemovalPlan } from "./removals.ts";
import { rollbackObstacle, rollbackStep } from "./rollback.ts";
import { beginning, lastCompleted, newestOf } from "./rollout-turns.ts";
import { abortOf, skipOf } from "./skips.ts";
import {
  isEmpty,
  isPassed,
  phaseOf,
  progressOf,
  stageInTurn,
  type StageMemory,
  type StageProgress,
  waitingForOf,
} from "./stage-progress.ts";
import { refusedClusters } from "./stages.ts";
import { deletionSentence } from "./status/deletion.ts";
import { seenAfter, standingsAfter } from "./status/history.ts";
import { type RecordEntry } from "./status/record-entry.ts";
import { haltEntry, hasDeeds, newEntries, passEntries, recorded } from "./status/record.ts";
import { deletingStatus, isPaused, rolloutStatus, unusableStatus } from "./status/set-status.ts";
import { unwrittenSentence } from "./unwritten.ts";

/**
 * Decides the next writes of a set: which components are written, removed or left as orphans, and the status of the set. Pure: equal facts and an
 * equal time give an equal decision, in any process. Spec: sets.md R2.
 */
export function decide(facts: SetFacts, now: number): Decision {
  const { set, selection } = facts;
  const nothing = { stamps: [], removals: noRemovals, nextDecisionAt: undefined };
  if (set.metadata.deletionTimestamp !== undefined) {
    const removals = planDeletion(set, facts);
    const unwritten = unwrittenSentence(facts, { stamps: [], removals });
    const status = deletingStatus(set, unwritten ?? deletionSentence(facts.children), now);
    return { ...nothing, removals, status };
  }
  const begun = beginning(facts, now);
  if (begun !== undefined) return { ...nothing, ...begun, status: set.status ?? {} };
  if (selection.kind === "unusable")
    return { ...nothing, status: unusableStatus(set, selection, now) };
  return new Decider(facts, selection.clusters, now).decide();
}

/** The progress of the stages, and the time of the next decision. */
interface Walk {
  readonly progress: readonly StageProgress[];
  readonly nextDecisionsAt: readonly (number | undefined)[];
}

interface StageResults extends Walk {
  readonly stages: readonly Stage[];
  /** Name of the stage that the phase is about; undefined: of none. */
  readonly stage: string | undefined;
  readonly stamps: readonly Stamp[];
  readonly phase: RolloutPhase;
  readonly waitingFor: string;
}

/** When a revision that was rolled back is tried again, it begins at the first stage. */
function notBegun({ status, ...rest }: StageProgress): StageProgress {
  const {
    startSize: _size,
    startedAt: _start,
    doneAt: _done,
    approvedBy: _user,
    ...counts
  } = status;
  return { ...rest, status: { ...counts, state: "Waiting" } };
}

/** One decision about a set whose selection is known. */
class Decider {
  readonly #facts: SetFacts;
  readonly #selected: readonly SelectedCluster[];
  readonly #now: number;
  readonly #update: Revision;
  readonly #current: Revision | undefined;
  readonly #plan: RemovalPlan;
  /** The missing entries of the record of the revision. */
  #news: readonly RecordEntry[];
  readonly #isPaused: boolean;
  readonly #isComplete: boolean;
  readonly #times: ReturnType<typeof deadlineTimes>;

  constructor(facts: SetFacts, selected: readonly SelectedCluster[], now: number) {
    const { set, revisions } = facts;
    this.#facts = facts;
    this.#selected = selected;
    this.#now = now;
    this.#times = deadlineTimes(set, now);
    this.#plan = planRemovals(facts, selected, now);
    const update = newestOf(revisions);
    if (update === undefined) throw new Error("A set is decided on after its revision is recorded");
    this.#update = update;
    this.#current = lastCompleted(revisions);
    this.#news = newEntries(set, update, now);
    this.#isPaused = isPaused(set);
    this.#isComplete = update.completedNumber === update.number;
  }

  decide(): Decision {
    const { records, ...rest } = this.#decided();
    const entries = [...this.#news, ...(records?.entries ?? [])];
    const isTold = entries.length === 0 && !hasDeeds(this.#facts.set);
    return isTold ? rest : { ...rest, records: { name: this.#update.name, entries } };
  }

  #decided(): Decision {
    const retry = this.#facts.set.metadata.annotations?.[steering.retry];
    if (retry === this.#update.name) return this.#marked({ kind: "retry", name: retry }, undefined);
    return this.#update.failed ? this.#rollBack() : this.#rollOut();
  }

  #rollOut(): Decision {
    const stages = this.#stagesWith(this.#update);
    const walk = this.#walk(stages);
    const passes = this.#passes(stages, walk.progress);
    const isHalted = walk.progress.some(({ status }) => status.state === "Halted");
    const aborted = this.#isComplete ? undefined : abortOf(this.#facts.set, this.#update.name);
    if (aborted === undefined && this.#isToBeCompleted(walk.progress)) {
      const { name, number } = this.#update;
      return this.#marked({ kind: "complete", name, number, entries: passes }, undefined);
    }
    this.#news = [...this.#news, ...passes];
    if (isHalted || aborted !== undefined) return this.#halt(stages, walk, aborted);
    const blocked = this.#refusedUnmatched(stages) ?? this.#allSkipped(stages, walk.progress);
    const isStill = this.#isPaused || blocked !== undefined;
    const admitted = isStill
      ? noneAdmitted
      : admittedStamps(stages, walk.progress, this.#admission);
    const phase = blocked === undefined ? phaseOf(walk.progress) : "Blocked";
    const waitingFor = blocked ?? waitingForOf(walk.progress);
    const stage = stageInTurn(walk.progress)?.status.name;
    const { stamps } = admitted;
    const nextDecisionsAt = [...walk.nextDecisionsAt, ...admitted.nextDecisionsAt];
    return this.#decision({ ...walk, nextDecisionsAt, stages, stage, stamps, phase, waitingFor });
  }

  #passes(stages: readonly Stage[], progress: readonly StageProgress[]): readonly RecordEntry[] {
    // A complete revision has its entries, or is from a time without them.
    if (this.#isComplete) return [];
    return passEntries(stages, progress, { record: this.#record, now: this.#now });
  }

  /** Without any cluster nothing was proven. Later clusters get the revision stage by stage. */
  #isToBeCompleted(progress: readonly StageProgress[]): boolean {
    return (
      !this.#isComplete &&
      progress.every(({ status }) => isPassed(status)) &&
      progress.some(({ status }) => status.state === "Passed")
    );
  }

  #halt(stages: readonly Stage[], walk: Walk, aborted: string | undefined): Decision {
    const { name } = this.#update;
    const obstacle = this.#obstacleToRollback(stages);
    const why = aborted ?? waitingForOf(walk.progress);
    const stage = stageInTurn(walk.progress)?.status.name;
    if (obstacle === undefined) return this.#marked({ kind: "fail", name }, why);
    const halt = haltEntry(this.#record, { stage, reason: why, now: this.#now });
    const waitingFor = `${why}. No rollback: ${obstacle}`;
    const results = { ...walk, stages, stage, stamps: [], phase: "Halted", waitingFor } as const;
    const decision = this.#decision(results);
    return halt === undefined ? decision : { ...decision, records: { name, entries: [halt] } };
  }

  /** Why a halted rollout is not rolled back; undefined: it is. */
  #obstacleToRollback(stages: readonly Stage[]): string | undefined {
    if (this.#facts.set.spec.rollout?.onFailure !== "Rollback") return "onFailure is Pause";
    if (this.#isPaused) return "the set is paused";
    const members = stages.flatMap((stage) => stage.members);
    return rollbackObstacle(members, this.#current, this.#update);
  }

  #rollBack(): Decision {
    const current = this.#judge;
    const stages = this.#stagesWith(current, true);
    const walk = this.#walk(stages);
    const progress = walk.progress.map(notBegun);
    const { order } = this.#facts.set.spec.rollout ?? {};
    const { stamps, stage } = rollbackStep(stages, current, { order, progress });
    const joined =
      stage === undefined ? admittedStamps(stages, progress, this.#admission) : noneAdmitted;
    return this.#decision({
      progress,
      nextDecisionsAt: [...walk.nextDecisionsAt, ...joined.nextDecisionsAt],
      stages,
      stage,
      stamps: this.#isPaused ? [] : [...stamps, ...joined.stamps],
      phase: stage === undefined ? "RolledBack" : "RollingBack",
      waitingFor: `Revision ${this.#update.name} failed; annotate ${steering.retry} to try it again`,
    });
  }

  #refusedUnmatched(stages: readonly Stage[]): string | undefined {
    const clusters = refusedClusters(this.#facts.set.spec.rollout ?? {}, stages);
    return clusters.length === 0 ? undefined : `No stage selects ${nameFirst(clusters, 3)}`;
  }

  /** Skips that leave no cluster: the revision is on none, and nothing is complete. */
  #allSkipped(stages: readonly Stage[], progress: readonly StageProgress[]): string | undefined {
    const { name: revision } = this.#update;
    const isNowhere = progress.every(({ status }) => status.state === "Empty");
    if (this.#isComplete || !isNowhere) return undefined;
    const isSkipped = stages.some(({ spec, members }) =>
      members.some(({ key }) => skipOf(this.#facts.set, revision, { key, stage: spec.name })),
    );
    return isSkipped ? `No cluster is left after rollout skip: none gets ${revision}` : undefined;
  }

  /** The stages in order. Each stage is due when the earlier ones are passed. */
  #walk(stages: readonly Stage[]): Walk {
    const { set } = this.#facts;
    const { windows = [], maxUnreachable } = set.spec.rollout ?? {};
    const annotations = set.metadata.annotations ?? {};
    const now = this.#now;
    const revision = this.#update.name;
    const isComplete = this.#isComplete;
    const { updateRevision = revision } = set.status ?? {};
    const mayBeForgotten = updateRevision === revision;
    const gates = { annotations, windows, maxUnreachable };
    const shared = { now, revision, isComplete, mayBeForgotten, ...gates };
    const emptyTimes = this.#emptyTimes(stages);
    const progress: StageProgress[] = [];
    for (const [index, stage] of stages.entries()) {
      const isDue = progress.every(({ status }) => isPassed(status));
      const own = {
        isDue,
        before: this.#before(stage),
        leaving: countLeaving(this.#plan, stage.spec.name),
        emptySince: emptyTimes.get(stage.spec.name),
        isFollowed: stages.slice(index + 1).some((later) => !isEmpty(later)),
      };
      progress.push(progressOf(stage, { ...shared, ...own }));
    }
    const states = stages.flatMap(({ members }) => members.map(({ state }) => state.until));
    const nextDecisionsAt = [...progress.map(({ nextDecisionAt }) => nextDecisionAt), ...states];
    return { progress, nextDecisionsAt };
  }

  #stagesWith(revision: Revision, ignoresOrder = false): readonly Stage[] {
    const judgement = { revision, now: this.#now, retriedAt: this.#update.retriedAt, ignoresOrder };
    return stagesWith(this.#facts, this.#selected, judgement);
  }

  /** The stored progress of a stage in this rollout. A completed rollout has passed all stages. */
  #before({ spec }: Stage): StageMemory | undefined {
    const { status } = this.#facts.set;
    const isSame = status?.updateRevision === this.#update.name;
    const before = isSame ? status.stages?.find(({ name }) => name === spec.name) : undefined;
    if (!this.#isComplete) return before;
    return { ...before, state: "Passed" };
  }

  /** Since when stages have had no cluster. While the selection is suspicious its clusters may come back, and the time stands. */
  #emptyTimes(stages: readonly Stage[]): ReadonlyMap<string, number> {
    const { history } = this.#facts;
    if (history === undefined) return new Map();
    const before = this.#plan.suspicious === undefined ? history.emptySince : undefined;
    const names = stages.filter(isEmpty).map(({ spec }) => spec.name);
    return new Map(names.map((name) => [name, before?.get(name) ?? this.#now]));
  }

  /** The revision by which the clusters are judged. */
  get #judge(): Revision {
    return this.#update.failed ? (this.#current ?? this.#update) : this.#update;
  }

  get #admission(): Admission {
    return { facts: this.#facts, now: this.#now, update: this.#update, current: this.#current };
  }

  /** The record of the revision with the missing entries. */
  get #record(): readonly RecordEntry[] {
    return [...(this.#update.record ?? []), ...this.#news];
  }

  #marked(mark: RevisionMark, reason: string | undefined): Decision {
    const { set } = this.#facts;
    const turn = { stage: set.status?.rollout?.stage, reason, now: this.#now };
    const recordedMark = recorded(mark, turn, this.#record);
    const nothing = { stamps: [], removals: noRemovals, nextDecisionAt: undefined };
    return { ...nothing, status: set.status ?? {}, mark: recordedMark };
  }

  #decision({ nextDecisionsAt, phase, ...results }: StageResults): Decision {
    const plan = this.#plan;
    const removals = this.#isPaused ? noRemovals : plan.removals;
    const { stamps } = results;
    const { unwritten, history } = this.#facts;
    const seen = seenAfter(results.stages, this.#times);
    const report = {
      ...results,
      // The hub may refuse these writes again.
      stamps: stamps.filter(({ cluster }) => unwritten?.has(cluster) !== true),
      waitingFor: unwrittenSentence(this.#facts, { stamps, removals }) ?? results.waitingFor,
      phase: this.#isPaused ? "Paused" : phase,
      updateRevision: this.#update.name,
      currentRevision: this.#current?.name,
      failedRevision: this.#update.failed ? this.#update.name : undefined,
      suspicious: plan.suspicious,
      standings: standingsAfter({ ...results, seen, phase }, this.#judge.name, this.#times),
    } as const;
    const times = [...nextDecisionsAt, plan.nextDecisionAt].filter((time) => time !== undefined);
    return {
      ...(history && {
        history: { ...history, clusters: seen, emptySince: this.#emptyTimes(results.stages) },
      }),
      status: rolloutStatus(this.#facts.set, report, this.#now),
      stamps,
      removals,
      ...(plan.isAcceptanceOver ? { dropsAcceptance: true } : {}),
      nextDecisionAt: times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b)),
      verifications: results.stages.flatMap(({ members }) =>
        members.flatMap(({ verification }) => verification ?? []),
      ),
    };
  }
}
