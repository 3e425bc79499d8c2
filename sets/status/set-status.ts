import { conditionOf, timestampOf } from "../../api/conditions.ts";
import {
  type FleetSet,
  type FleetSetStatus,
  type NotableCluster,
  type StageStatus,
  type StandingStatus,
  steering,
} from "../../api/fleet-set.ts";
import { scaledToZero } from "../../api/reasons.ts";
import { type ClusterStateName, isThrough } from "../cluster-state.ts";
import type { Member, Obstacle, Stage, Stamp } from "../facts.ts";
import type { StageProgress } from "../stage-progress.ts";
import {
  conditionsOf,
  conditionsWith,
  cutText,
  type Entry,
  type Outline,
  phaseMessage,
  shortText,
  type Summary,
  withKstatus,
} from "./set-conditions.ts";

/** The state of a rollout, from which the status is written. */
export interface RolloutReport extends Outline {
  readonly stages: readonly Stage[];
  readonly progress: readonly StageProgress[];
  /** Name of the stage that the phase is about; undefined when it is about none. */
  readonly stage: string | undefined;
  readonly stamps: readonly Stamp[];
  readonly updateRevision: string;
  readonly currentRevision: string | undefined;
  readonly failedRevision: string | undefined;
  readonly standings: readonly StandingStatus[];
}

const maxNotable = 20;
const maxReasonBytes = 64;

/** Worst first. */
const notableStates: readonly ClusterStateName[] = [
  "Failed",
  "TimedOut",
  "Blocked",
  "Diverged",
  "Unreachable",
  "Verifying",
];

/** True when the spec or an annotation pauses the set. */
export function isPaused({ spec, metadata }: FleetSet): boolean {
  return spec.rollout?.paused === true || metadata.annotations?.[steering.pause] !== undefined;
}

/** True for a cluster that was failed at the last decision, or may have been: the status names the first ones only. */
export function wasFailed({ status }: FleetSet, cluster: string): boolean {
  const { notable = [] } = status ?? {};
  const { state } = notable.find((one) => one.cluster === cluster) ?? notable[maxNotable - 1] ?? {};
  return state === "Failed" || state === "TimedOut";
}

/** True for a cluster that was failed by a check at the last decision, as far as the status names it. */
export function wasFailedByCheck({ status }: FleetSet, cluster: string): boolean {
  const { state, reason = "" } = status?.notable?.find((one) => one.cluster === cluster) ?? {};
  return state === "Failed" && ["WorkloadsBroken", "CheckFailed"].includes(reason);
}

/** When the last pause ended; now when the set was paused at the last decision and is not paused any more. */
export function resumedAtOf(set: FleetSet, now: number): string | undefined {
  const { phase, resumedAt } = set.status?.rollout ?? {};
  return phase === "Paused" && !isPaused(set) ? timestampOf(new Date(now)) : resumedAt;
}

function resumedTime(set: FleetSet, now: number): { readonly resumedAt?: string } {
  const resumedAt = resumedAtOf(set, now);
  return resumedAt === undefined ? {} : { resumedAt };
}

/** The status of a set that is being deleted. */
export function deletingStatus(
  set: FleetSet,
  waitingFor: string | undefined,
  now: number,
): FleetSetStatus {
  const message = shortText(waitingFor ?? "The set is deleted");
  const entry = { type: "Progressing", status: "True", reason: "Deleting", message } as const;
  // A reader of a deleted set sees the time of the deletion.
  const conditions = withKstatus(set, conditionsWith(set, [entry], now), {
    phase: undefined,
    cause: entry,
    now,
  });
  return { ...set.status, ...observedBy(set), conditions };
}

/** The status of a set whose selection is unusable. Counts and stages stay unchanged. */
export function unusableStatus(set: FleetSet, obstacle: Obstacle, now: number): FleetSetStatus {
  return blockedStatus(set, { types: ["Selected", "Progressing"], obstacle }, now);
}

/** The status of a set whose own write the hub refuses: it has not begun with its newest spec. Counts and stages stay unchanged. */
export function refusedStatus(set: FleetSet, obstacle: Obstacle, now: number): FleetSetStatus {
  return blockedStatus(set, { types: ["Progressing", "Ready"], obstacle }, now);
}

function blockedStatus(
  set: FleetSet,
  { types, obstacle }: { readonly types: readonly string[]; readonly obstacle: Obstacle },
  now: number,
): FleetSetStatus {
  const { reason } = obstacle;
  const message = shortText(obstacle.message);
  const entries = types.map((type): Entry => ({ type, status: "False", reason, message }));
  const phase = isPaused(set) ? "Paused" : "Blocked";
  const cause = { reason, message };
  return {
    ...set.status,
    ...observedBy(set),
    rollout: { ...set.status?.rollout, ...resumedTime(set, now), phase, waitingFor: message },
    conditions: withKstatus(set, conditionsWith(set, entries, now), { phase, cause, now }),
  };
}

/** The status of a set. Equal facts give a byte-equal status; its size does not grow with the number of clusters. Spec: sets.md R14. */
export function rolloutStatus(set: FleetSet, found: RolloutReport, now: number): FleetSetStatus {
  const report = { ...found, waitingFor: shortText(found.waitingFor) };
  const { currentRevision, updateRevision, progress, stamps } = report;
  const summary = summaryOf(report);
  return {
    ...observedBy(set),
    ...(currentRevision === undefined ? {} : { currentRevision }),
    updateRevision,
    rollout: rolloutOf(set, report, now),
    clusters: summary.clusters,
    stages: progress.map(({ status }) => withStamps(status, stamps)),
    notable: summary.notable,
    ...(report.standings.length === 0 ? {} : { standings: report.standings }),
    conditions: withKstatus(set, conditionsWith(set, conditionsOf(report, summary), now), {
      phase: report.phase,
      cause: { reason: report.phase, message: phaseMessage(report) },
      now,
    }),
  };
}

function observedBy({ metadata }: FleetSet): Pick<FleetSetStatus, "observedGeneration"> {
  const { generation } = metadata;
  return generation === undefined ? {} : { observedGeneration: generation };
}

function rolloutOf(
  set: FleetSet,
  report: RolloutReport,
  now: number,
): NonNullable<FleetSetStatus["rollout"]> {
  const { rollout, updateRevision } = set.status ?? {};
  const isSame = updateRevision === report.updateRevision;
  const startedAt = (isSame ? rollout?.startedAt : undefined) ?? timestampOf(new Date(now));
  return {
    phase: report.phase,
    startedAt,
    ...(report.stage === undefined ? {} : { stage: report.stage }),
    ...(report.waitingFor === "" ? {} : { waitingFor: report.waitingFor }),
    ...(report.failedRevision === undefined ? {} : { failedRevision: report.failedRevision }),
    ...resumedTime(set, now),
  };
}

/** Counts clusters that are stamped now as updating, so that a stamp needs no further write of the status. */
function withStamps(status: StageStatus, stamps: readonly Stamp[]): StageStatus {
  const stamped = stamps.filter(({ stage }) => stage === status.name).length;
  return stamped === 0 ? status : { ...status, updating: status.updating + stamped };
}

/** Numbers of clusters by state, and the clusters that need attention. */
function summaryOf({ stages, stamps }: RolloutReport): Summary {
  const members = stages.flatMap((stage) => stage.members);
  const numbers = new Map<ClusterStateName, number>();
  for (const { state } of members) numbers.set(state.name, (numbers.get(state.name) ?? 0) + 1);
  const count = (name: ClusterStateName): number => numbers.get(name) ?? 0;
  const clusters = {
    selected: members.length,
    pending: Math.max(0, count("Pending") - stamps.length),
    updating: count("Updating") + stamps.length,
    settling: count("Settling"),
    ...(count("Verifying") === 0 ? {} : { verifying: count("Verifying") }),
    done: count("Done"),
    failed: count("Failed") + count("TimedOut"),
    unreachable: count("Unreachable"),
    excluded: count("Excluded"),
    diverged: count("Diverged"),
    blocked: count("Blocked"),
  };
  const through = members.filter(({ state }) => isThrough(state)).length + clusters.excluded;
  return { clusters, through, notable: notableOf(members) };
}

/** A member that is ready although another writer scaled workloads to zero there, with that as its reason. */
function withScale(member: Member): Member {
  const available = conditionOf(member.child?.status?.conditions, "DeploymentsAvailable");
  if (member.state.name !== "Done" || available?.reason !== scaledToZero) return member;
  const state = { ...member.state, reason: scaledToZero, message: available.message ?? "" };
  return { ...member, state };
}

/** Ready clusters come last. */
function rankOf({ name }: Member["state"]): number {
  const rank = notableStates.indexOf(name);
  return rank < 0 ? notableStates.length : rank;
}

function notableOf(members: readonly Member[]): readonly NotableCluster[] {
  return members
    .map(withScale)
    .filter(({ state }) => notableStates.includes(state.name) || state.reason === scaledToZero)
    .toSorted((a, b) => rankOf(a.state) - rankOf(b.state) || (a.key < b.key ? -1 : 1))
    .slice(0, maxNotable)
    .map(({ key, child, state }) => {
      const since = conditionOf(child?.status?.conditions, "Ready")?.lastTransitionTime;
      return {
        cluster: key,
        state: state.name,
        reason: cutText(state.reason, maxReasonBytes),
        message: shortText(state.message),
        ...(since === undefined ? {} : { since: cutText(since, maxReasonBytes) }),
      };
    });
}
