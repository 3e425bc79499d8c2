import { timestampOf, withCondition } from "../api/conditions.ts";
import {
  type FleetSet,
  type FleetSetStatus,
  type NotableCluster,
  type RolloutPhase,
  type StageStatus,
  steering,
} from "../api/fleet-set.ts";
import type { Condition } from "../api/kubernetes.ts";
import { type ClusterStateName, isThrough } from "./cluster-state.ts";
import type { Member, Obstacle, Stage, Stamp } from "./facts.ts";
import { isPassed, type StageProgress } from "./stage-progress.ts";

/** What a look at a set found. */
export interface RolloutReport {
  readonly stages: readonly Stage[];
  readonly progress: readonly StageProgress[];
  readonly stamps: readonly Stamp[];
  readonly phase: RolloutPhase;
  readonly waitingFor: string;
  readonly updateRevision: string;
  readonly currentRevision: string | undefined;
  readonly failedRevision: string | undefined;
  /** Hash of a selection that is suspiciously small. */
  readonly suspicious: string | undefined;
}

const maxNotable = 20;
const maxMessage = 200;

/** Worst first. */
const notableStates: readonly ClusterStateName[] = [
  "Failed",
  "TimedOut",
  "Blocked",
  "Diverged",
  "Unreachable",
];

/** The status of a set that is being deleted. */
export function deletingStatus(set: FleetSet, now: number): FleetSetStatus {
  const message = "The set is deleted";
  const entry = { type: "Progressing", status: "True", reason: "Deleting", message } as const;
  return { ...set.status, ...observedBy(set), conditions: conditionsWith(set, [entry], now) };
}

/** The status of a set whose selection is not known; counts and stages stay as they were. */
export function unusableStatus(
  set: FleetSet,
  { reason, message }: Obstacle,
  now: number,
): FleetSetStatus {
  const entries = ["Selected", "Progressing"].map((type): Entry => ({
    type,
    status: "False",
    reason,
    message,
  }));
  return {
    ...set.status,
    ...observedBy(set),
    rollout: { ...set.status?.rollout, phase: "Blocked", waitingFor: message },
    conditions: conditionsWith(set, entries, now),
  };
}

/** The status of a set. Equal facts give a byte-equal status; its size does not grow with the number of clusters. Spec: sets.md R14. */
export function rolloutStatus(set: FleetSet, report: RolloutReport, now: number): FleetSetStatus {
  const { currentRevision, updateRevision, progress, stamps } = report;
  return {
    ...observedBy(set),
    ...(currentRevision === undefined ? {} : { currentRevision }),
    updateRevision,
    rollout: rolloutOf(set.status ?? {}, report, new Date(now)),
    clusters: countsOf(report),
    stages: progress.map(({ status }) => withStamps(status, stamps)),
    notable: notableOf(report.stages),
    conditions: conditionsWith(set, conditionsOf(report), now),
  };
}

function observedBy({ metadata }: FleetSet): Pick<FleetSetStatus, "observedGeneration"> {
  const { generation } = metadata;
  return generation === undefined ? {} : { observedGeneration: generation };
}

function conditionsWith(
  { status }: FleetSet,
  entries: readonly Entry[],
  now: number,
): readonly Condition[] {
  const before: readonly Condition[] = status?.conditions ?? [];
  return entries.reduce((all, entry) => withCondition(all, entry, new Date(now)), before);
}

type Entry = Omit<Condition, "lastTransitionTime">;

function rolloutOf(
  { rollout, updateRevision }: FleetSetStatus,
  report: RolloutReport,
  now: Date,
): NonNullable<FleetSetStatus["rollout"]> {
  const isSame = updateRevision === report.updateRevision;
  const startedAt = (isSame ? rollout?.startedAt : undefined) ?? timestampOf(now);
  const isResumed = rollout?.phase === "Paused" && report.phase !== "Paused";
  const resumedAt = isResumed ? timestampOf(now) : rollout?.resumedAt;
  const stage = report.progress.find(({ status }) => !isPassed(status));
  return {
    phase: report.phase,
    startedAt,
    ...(stage === undefined ? {} : { stage: stage.status.name }),
    ...(report.waitingFor === "" ? {} : { waitingFor: report.waitingFor }),
    ...(report.failedRevision === undefined ? {} : { failedRevision: report.failedRevision }),
    ...(resumedAt === undefined ? {} : { resumedAt }),
  };
}

/** What is stamped now counts as updating, so that a stamp needs no status write of its own. */
function withStamps(status: StageStatus, stamps: readonly Stamp[]): StageStatus {
  const stamped = stamps.filter(({ stage }) => stage === status.name).length;
  return stamped === 0 ? status : { ...status, updating: status.updating + stamped };
}

function membersOf(stages: readonly Stage[]): readonly Member[] {
  return stages.flatMap(({ members }) => members);
}

function countsOf({ stages, stamps }: RolloutReport): Readonly<Record<string, number>> {
  const states = membersOf(stages).map(({ state }) => state.name);
  const count = (...names: readonly ClusterStateName[]): number =>
    states.filter((name) => names.includes(name)).length;
  return {
    selected: states.length,
    pending: Math.max(0, count("Pending") - stamps.length),
    updating: count("Updating") + stamps.length,
    settling: count("Settling"),
    done: count("Done"),
    failed: count("Failed", "TimedOut"),
    unreachable: count("Unreachable"),
    excluded: count("Excluded"),
    diverged: count("Diverged"),
    blocked: count("Blocked"),
  };
}

function notableOf(stages: readonly Stage[]): readonly NotableCluster[] {
  return membersOf(stages)
    .filter(({ state }) => notableStates.includes(state.name))
    .toSorted(
      (a, b) =>
        notableStates.indexOf(a.state.name) - notableStates.indexOf(b.state.name) ||
        (a.key < b.key ? -1 : 1),
    )
    .slice(0, maxNotable)
    .map(({ key, state }) => ({
      cluster: key,
      state: state.name,
      reason: state.reason,
      message: state.message.slice(0, maxMessage),
    }));
}

const movingPhases: readonly RolloutPhase[] = ["Rolling", "Soaking", "RollingBack"];

function conditionsOf(report: RolloutReport): readonly Entry[] {
  const { phase, waitingFor } = report;
  const message = waitingFor === "" ? phaseMessages[phase] : waitingFor;
  const isMoving = movingPhases.includes(phase) && waitingFor === "";
  const isComplete = phase === "Complete";
  return [
    selectedOf(report),
    { type: "Progressing", status: statusOf(isMoving), reason: phase, message },
    { type: "Complete", status: statusOf(isComplete), reason: phase, message },
    healthyOf(report),
    readyOf(report, isComplete),
  ];
}

function statusOf(isTrue: boolean): Condition["status"] {
  return isTrue ? "True" : "False";
}

function selectedOf({ stages, suspicious }: RolloutReport): Entry {
  const type = "Selected";
  if (suspicious === undefined) {
    const message = `${membersOf(stages).length} clusters`;
    return { type, status: "True", reason: "Selected", message };
  }
  const message = `The selection lost many clusters at once; nothing is removed until the annotation ${steering.acceptSelection} is ${suspicious}`;
  return { type, status: "False", reason: "SuspiciousShrink", message };
}

function healthyOf({ stages }: RolloutReport): Entry {
  const type = "Healthy";
  const worst = notableOf(stages).at(0);
  if (worst === undefined) return { type, status: "True", reason: "Healthy", message: "" };
  const message = `${worst.cluster}: ${worst.message}`;
  return { type, status: "False", reason: worst.state, message };
}

function readyOf({ stages, phase }: RolloutReport, isComplete: boolean): Entry {
  const type = "Ready";
  const states = membersOf(stages).map(({ state }) => state);
  const through = states.filter((state) => isThrough(state) || state.name === "Excluded");
  if (isComplete && through.length === states.length) {
    return { type, status: "True", reason: "Ready", message: "" };
  }
  const message = `${through.length} of ${states.length} clusters are done`;
  return { type, status: "False", reason: phase, message };
}

const phaseMessages: Readonly<Record<RolloutPhase, string>> = {
  Waiting: "The next stage has not begun",
  Rolling: "Clusters are changing",
  Soaking: "A finished stage is watched",
  AwaitingApproval: "A finished stage waits for an approval",
  Complete: "All stages were passed",
  Halted: "Too many clusters failed",
  RollingBack: "Clusters go back to the revision that was completed last",
  RolledBack: "The failed revision was given up",
  Paused: "The set is paused",
  Blocked: "The rollout cannot go on",
};
