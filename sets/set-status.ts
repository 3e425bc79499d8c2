import { timestampOf, withCondition } from "../api/conditions.ts";
import {
  type FleetSetStatus,
  type NotableCluster,
  type RolloutPhase,
  type StageStatus,
  steering,
} from "../api/fleet-set.ts";
import type { Condition } from "../api/kubernetes.ts";
import { type ClusterStateName, isThrough } from "./cluster-state.ts";
import type { Member, SetFacts, Stage, Stamp } from "./facts.ts";
import type { StageProgress } from "./stage-progress.ts";

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

/** Statuses of a set by what was found. */
export interface SetStatuses {
  rollingOut(report: RolloutReport): FleetSetStatus;
  unusable(selection: { readonly reason: string; readonly message: string }): FleetSetStatus;
  deleting(): FleetSetStatus;
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

/** The status of a set. Equal facts give a byte-equal status; its size does not grow with the number of clusters. Spec: sets.md R14. */
export function setStatus({ set }: SetFacts, nowMs: number): SetStatuses {
  const before = set.status ?? {};
  const now = new Date(nowMs);
  const observed =
    set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation };
  const conditionsWith = (entries: readonly Entry[]): readonly Condition[] => {
    let conditions = before.conditions ?? [];
    for (const entry of entries) conditions = withCondition(conditions, entry, now);
    return conditions;
  };
  const blocked = (reason: string, message: string): FleetSetStatus => ({
    ...before,
    ...observed,
    rollout: { ...before.rollout, phase: "Blocked", waitingFor: message },
    conditions: conditionsWith([
      { type: "Selected", status: "False", reason, message },
      { type: "Progressing", status: "False", reason, message },
    ]),
  });
  return {
    unusable: ({ reason, message }) => blocked(reason, message),
    deleting: () => ({
      ...before,
      ...observed,
      conditions: conditionsWith([
        { type: "Progressing", status: "True", reason: "Deleting", message: "The set is deleted" },
      ]),
    }),
    rollingOut: (report) => ({
      ...observed,
      ...(report.currentRevision === undefined ? {} : { currentRevision: report.currentRevision }),
      updateRevision: report.updateRevision,
      rollout: rolloutOf(before, report, now),
      clusters: countsOf(report),
      stages: report.progress.map(({ status }) => withStamps(status, report.stamps)),
      notable: notableOf(report.stages),
      conditions: conditionsWith(conditionsOf(report)),
    }),
  };
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
  const stage = report.progress.find(({ status }) => !["Passed", "Empty"].includes(status.state));
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
