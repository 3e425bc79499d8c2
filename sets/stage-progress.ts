import { timestampOf } from "../api/conditions.ts";
import { type RolloutPhase, type StageStatus, steering } from "../api/fleet-set.ts";
import { approvalAfter, approvalBefore } from "../api/sentences.ts";
import { timeOf } from "./component-condition.ts";
import type { Stage } from "./facts.ts";
import { durationOf, openingOf, type Share, type Window } from "./limits.ts";
import { isSkippedStage } from "./skips.ts";
import { cutText } from "./status/set-conditions.ts";
import {
  clustersText,
  failuresText,
  type StageLimits,
  type Tally,
  tallyOf,
  unreachableSentence,
} from "./tally.ts";

/** Bytes of a user's name in the status. */
const longestUser = 100;

/** A stage that selects no cluster for this time is passed without one. Spec: sets.md R7. */
const emptyMs = 60_000;

/** The progress of a stage that the status keeps between decisions. */
export type StageMemory = Times & Pick<StageStatus, "state">;

/** The facts that decide the progress of a stage, besides its clusters. */
export interface StageContext {
  readonly now: number;
  readonly revision: string;
  /** The stored progress of the stage in this rollout; undefined: none. A lost fact makes the rollout wait longer, never shorter (R1). */
  readonly before: StageMemory | undefined;
  /** Whether all stages before were passed. */
  readonly isDue: boolean;
  /** Whether all stages were passed by this revision before. */
  readonly isComplete: boolean;
  /** Whether the stored progress may be lost: the set has no status, or a status of this revision. */
  readonly mayBeForgotten: boolean;
  /** Number of clusters that left the selection and still have a component that the stage stamped. */
  readonly leaving: number;
  /** Since when the stage has been seen without clusters, in ms since the epoch. Undefined: not observed, so that an empty stage counts at once. */
  readonly emptySince: number | undefined;
  /** Whether a later stage has clusters, which this one protects. */
  readonly isFollowed: boolean;
  readonly annotations: Readonly<Record<string, string>>;
  readonly windows: readonly Window[];
  readonly maxUnreachable: Share;
}

/** Where a stage is. */
export interface StageProgress {
  readonly status: StageStatus;
  /** How many more clusters may start. */
  readonly slots: number;
  /** The facts that also hold for clusters that join the stage. */
  readonly limits: StageLimits;
  /** Why nothing starts, as a sentence; empty: nothing stands in the way. */
  readonly waitingFor: string;
  /** Whether a user has to approve the stage before it begins. */
  readonly awaitsApproval: boolean;
  readonly nextDecisionAt: number | undefined;
}

/** Whether a stage has no cluster that the revision is for. */
export function isEmpty({ members }: Stage): boolean {
  return members.every(({ state }) => state.name === "Excluded");
}

/** Whether the next stage may begin. */
export function isPassed({ state }: Pick<StageStatus, "state">): boolean {
  return state === "Passed" || state === "Empty";
}

/** Whether clusters of the stage get the revision that is rolled out. Spec: sets.md R6. */
export function isOpen({ state }: Pick<StageStatus, "state">): boolean {
  return state !== "Waiting" && state !== "Halted" && state !== "Empty";
}

/** Computes where a stage is from its clusters. Pure. Spec: sets.md 6, R5 to R7, R9. */
export function progressOf(stage: Stage, context: StageContext): StageProgress {
  const tally = tallyOf(stage, context);
  const counts = {
    name: stage.spec.name,
    clusters: tally.size,
    done: tally.done,
    failed: tally.failed,
    updating: tally.inFlight,
    unreachable: tally.unreachable,
  };
  const step = stepOf(stage, tally, context);
  const { state, waitingFor = "", nextDecisionAt, awaitsApproval = false, ...times } = step;
  const status = { ...counts, state, ...times };
  const mayStart = isOpen(status) && waitingFor === "";
  const slots = mayStart ? tally.free : 0;
  return { status, slots, limits: tally, waitingFor, awaitsApproval, nextDecisionAt };
}

type Times = Pick<StageStatus, "startSize" | "startedAt" | "doneAt" | "approvedBy">;

interface Step extends Times {
  readonly state: StageStatus["state"];
  readonly waitingFor?: string;
  readonly awaitsApproval?: boolean;
  readonly nextDecisionAt?: number | undefined;
}

function stepOf(stage: Stage, tally: Tally, context: StageContext): Step {
  const { before, isDue } = context;
  const times = timesOf(before);
  const isSkipped = isSkippedStage(context.annotations, context.revision, stage.spec.name);
  if (isSkipped) return skippedStep(times);
  const empty = tally.size === 0 ? emptyStep(stage, context) : undefined;
  if (empty !== undefined) return empty;
  if (before?.state === "Passed") return passedStep(stage, tally, context);
  if (hasBegun(context) && tally.failed > tally.maxFailures) return haltedStep(times, tally, stage);
  if (!isDue) return { state: "Waiting", ...times };
  if (times.startedAt !== undefined) return runningStep(stage, tally, context);
  const gate = closedGate(stage, tally, context);
  if (gate !== undefined) return { state: "Waiting", ...gate };
  const startedAt = timestampOf(new Date(context.now));
  const started = { state: "Rolling", startedAt, startSize: tally.size } as const;
  return runningStep(stage, tally, { ...context, before: started });
}

/** A stage that has begun stays halted while clusters join a stage before it. Without its progress the failed clusters show that it has: they have the revision. */
function hasBegun({ before, isDue, mayBeForgotten }: StageContext): boolean {
  if (before === undefined) return isDue || mayBeForgotten;
  return isDue || before.startedAt !== undefined || before.state === "Halted";
}

/** A user wants the rollout to go on without the stage. */
function skippedStep(times: Times): Step {
  return { state: times.startedAt === undefined ? "Empty" : "Passed", ...times };
}

function timesOf(before: StageMemory | undefined): Times {
  const { startSize, startedAt, doneAt, approvedBy } = before ?? {};
  return {
    ...(startSize === undefined ? {} : { startSize }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(doneAt === undefined ? {} : { doneAt }),
    ...(approvedBy === undefined ? {} : { approvedBy }),
  };
}

/** A cluster that was done is not done any more: the soak begins again after the halt. */
function haltedStep(times: Times, { failed, maxFailures }: Tally, { spec }: Stage): Step {
  const waitingFor = `Stage ${spec.name} halted: ${clustersText(failed)} failed, ${failuresText(spec, maxFailures)}`;
  return { state: "Halted", ...withoutDone(times), waitingFor };
}

/**
 * A stage without clusters. It is passed only when it stays empty: profiles are missing for a moment when an inventory restarts. A failure stays a
 * failure. A stage that began and never had a cluster that was done proves nothing for the later stages. Spec: sets.md R7.
 */
function emptyStep(stage: Stage, context: StageContext): Step | undefined {
  const { spec, members } = stage;
  const { before, leaving, isFollowed } = context;
  if (before?.state === "Halted") {
    const waitingFor = `All clusters of the halted stage ${spec.name} have left`;
    return { state: "Halted", ...timesOf(before), waitingFor };
  }
  if (before?.startedAt === undefined) return unbegunStep(spec.name, context);
  if (before.state === "Passed") return undefined;
  const step = { state: "Rolling", ...timesOf(before) } as const;
  if (leaving > 0) return { ...step, waitingFor: leaveSentence(spec.name) };
  // A user has excluded all its clusters, and wants the rollout to go on.
  if (before.doneAt !== undefined || members.length > 0) return undefined;
  const nextDecisionAt = emptyUntil(context);
  if (!isFollowed && nextDecisionAt === undefined) return undefined;
  if (!isFollowed) return { ...step, waitingFor: minuteSentence(spec.name), nextDecisionAt };
  const waitingFor = `Stage ${spec.name} began and has no cluster left; let it select one, or take it out of the set`;
  return { ...step, waitingFor };
}

/** A stage without clusters that has not begun, or whose stored progress is lost. */
function unbegunStep(name: string, context: StageContext): Step {
  const { before, leaving, mayBeForgotten } = context;
  const mayHaveBegun = before === undefined && mayBeForgotten;
  if (mayHaveBegun && leaving > 0) return { state: "Waiting", waitingFor: leaveSentence(name) };
  const nextDecisionAt = emptyUntil(context);
  if (nextDecisionAt === undefined || before?.state === "Passed") return { state: "Empty" };
  return { state: "Waiting", waitingFor: minuteSentence(name), nextDecisionAt };
}

/** Until when a stage may have no cluster just for the moment; undefined: it has had none for long. */
function emptyUntil({ emptySince = 0, now }: StageContext): number | undefined {
  return now < emptySince + emptyMs ? emptySince + emptyMs : undefined;
}

function minuteSentence(name: string): string {
  return `Stage ${name} has no cluster; it is passed when that lasts for a minute`;
}

function leaveSentence(name: string): string {
  return `All clusters of stage ${name} leave the set`;
}

/** A passed stage is not opened again by clusters that join or lag; it halts the rollout when too many of them fail. */
function passedStep(stage: Stage, tally: Tally, context: StageContext): Step {
  const times = timesOf(context.before);
  // After the rollout, a failed cluster stops only the clusters that do not have the revision yet.
  const mayHalt = !context.isComplete || tally.pending > 0;
  if (mayHalt && tally.failed > tally.maxFailures) {
    const halted = haltedStep(times, tally, stage);
    // A complete rollout has no soak to begin again, and its time tells which clusters were verified.
    return context.isComplete ? { ...times, ...halted } : halted;
  }
  if (tally.pending === 0) return { state: "Passed", ...times };
  return { state: "Passed", ...times, ...admissionOf(stage, tally, context) };
}

/** The obstacle of a stage before its first cluster. */
function closedGate(
  stage: Stage,
  tally: Tally,
  context: StageContext,
): Pick<Step, "waitingFor" | "nextDecisionAt" | "awaitsApproval"> | undefined {
  const { name, before: gate } = stage.spec;
  if (gate?.approval === true && approvalOf(name, "before", context) === undefined) {
    const waitingFor = approvalBefore.of(name);
    return { waitingFor, awaitsApproval: true };
  }
  const { waitingFor, nextDecisionAt } = admissionOf(stage, tally, context);
  return waitingFor === "" ? undefined : { waitingFor, nextDecisionAt };
}

/** Whether clusters of an open stage may start now. */
function admissionOf(stage: Stage, tally: Tally, context: StageContext) {
  const { windows, now } = context;
  const { name, before } = stage.spec;
  if (tally.hasTooManyUnreachable) {
    return { waitingFor: unreachableSentence(stage, tally, context), nextDecisionAt: undefined };
  }
  if (tally.pending === 0) return { waitingFor: "", nextDecisionAt: undefined };
  if (tally.free === 0 && tally.inFlight === 0) {
    const limit = failuresText(stage.spec, tally.maxFailures);
    const waitingFor = `Stage ${name} waits: too many of its clusters are blocked and not ready, ${limit}`;
    return { waitingFor, nextDecisionAt: undefined };
  }
  const opening = openingOf(before?.windows ?? windows, now);
  const nextDecisionAt = opening.changesAt;
  return {
    waitingFor: opening.isOpen ? "" : `The windows of stage ${name} are closed`,
    nextDecisionAt,
  };
}

function hasFinished({ unfinished, hasTooManyUnreachable, isBlocked }: Tally): boolean {
  return unfinished === 0 && !hasTooManyUnreachable && !isBlocked;
}

/** Whether the stage is not done any more, so that its soak begins again later. Clusters that join and change do not break it. */
function hasBroken({ relapsed, hasTooManyUnreachable, isBlocked }: Tally): boolean {
  return relapsed > 0 || hasTooManyUnreachable || isBlocked;
}

function withoutDone<T extends Times>(times: T): Omit<T, "doneAt"> {
  const { doneAt: _, ...rest } = times;
  return rest;
}

function runningStep(stage: Stage, tally: Tally, context: StageContext): Step {
  const { now, before } = context;
  const known = timesOf(before);
  const times: Times = hasBroken(tally) ? withoutDone(known) : known;
  const isFinished = hasFinished(tally);
  if (!isFinished && times.doneAt === undefined)
    return withoutDone(rollingStep(stage, tally, context));
  const done = { ...times, doneAt: times.doneAt ?? timestampOf(new Date(now)) };
  const soakEnd = timeOf(done.doneAt, now) + durationOf(stage.spec.after?.soak, 0);
  if (now < soakEnd) return soakingStep(stage, tally, { context, done, soakEnd });
  if (!isFinished) return { ...rollingStep(stage, tally, context), ...done };
  if (stage.spec.after?.approval !== true) return { state: "Passed", ...done };
  const approvedBy = approvalOf(stage.spec.name, "after", context);
  return approvedBy === undefined
    ? { state: "AwaitingApproval", ...done }
    : { state: "Passed", ...done, approvedBy };
}

/** Clusters that join a stage while it is watched wait for its windows, as all do. */
function soakingStep(
  stage: Stage,
  tally: Tally,
  {
    context,
    done,
    soakEnd,
  }: { readonly context: StageContext; readonly done: Times; readonly soakEnd: number },
): Step {
  const step = { state: "Soaking", ...done, nextDecisionAt: soakEnd } as const;
  if (tally.pending === 0) return step;
  const { waitingFor, nextDecisionAt = soakEnd } = admissionOf(stage, tally, context);
  return { ...step, waitingFor, nextDecisionAt: Math.min(soakEnd, nextDecisionAt) };
}

function rollingStep(stage: Stage, tally: Tally, context: StageContext): Step {
  const step = { state: "Rolling", ...timesOf(context.before) } as const;
  const stuck = stuckSentence(stage, tally);
  return stuck === undefined
    ? { ...step, ...admissionOf(stage, tally, context) }
    : { ...step, waitingFor: stuck };
}

/** Why a stage whose clusters have all begun is not finished, when time alone does not finish it. */
function stuckSentence({ spec }: Stage, tally: Tally): string | undefined {
  if (tally.pending + tally.inFlight > 0 || tally.hasTooManyUnreachable) return undefined;
  if (tally.waitsFor !== undefined) return `Stage ${spec.name} waits: ${tally.waitsFor}`;
  if (!tally.isBlocked || tally.unfinished > 0) return undefined;
  const { blocked, maxFailures } = tally;
  const are = blocked === 1 ? "is" : "are";
  return `Stage ${spec.name} waits: ${clustersText(blocked)} ${are} blocked, ${failuresText(spec, maxFailures)}`;
}

/** The user who approved a gate for this revision; undefined: none. An approval of another revision does not count. Spec: sets.md R9. */
function approvalOf(
  stage: string,
  gate: "before" | "after",
  { annotations, revision }: Pick<StageContext, "annotations" | "revision">,
): string | undefined {
  const value = annotations[`${steering.approve}${stage}-${gate}`] ?? "";
  const [approved, ...user] = value.split(" ");
  return approved === revision ? cutText(user.join(" "), longestUser) : undefined;
}

/** The current stage of a rollout: the halted one, or the first that is not passed. */
export function stageInTurn(progress: readonly StageProgress[]): StageProgress | undefined {
  return (
    progress.find(({ status }) => status.state === "Halted") ??
    progress.find(({ status }) => !isPassed(status))
  );
}

/** The phase that the stages of a rollout make. */
export function phaseOf(progress: readonly StageProgress[]): RolloutPhase {
  const stage = stageInTurn(progress);
  if (stage?.awaitsApproval === true) return "AwaitingApproval";
  const state = stage?.status.state;
  return state === undefined || state === "Passed" || state === "Empty" ? "Complete" : state;
}

/** The obstacle of the current stage. Without a current stage, the obstacle of clusters that joined. */
export function waitingForOf(progress: readonly StageProgress[]): string {
  const stage = stageInTurn(progress) ?? progress.find(({ waitingFor }) => waitingFor !== "");
  const { waitingFor = "", status } = stage ?? {};
  const isDone = waitingFor === "" && status?.state === "AwaitingApproval";
  return isDone ? approvalAfter.of(status.name) : waitingFor;
}
