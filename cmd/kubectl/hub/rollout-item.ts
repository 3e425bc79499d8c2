import { timestampOf } from "../../../api/conditions.ts";
import {
  type FleetSet,
  type FleetSetKind,
  type FleetSetStatus,
  type RolloutPhase,
  type StageStatus,
  steering,
} from "../../../api/fleet-set.ts";
import { approvalAfter } from "../../../api/sentences.ts";
import { durationOf } from "../../../sets/limits.ts";
import { verifyOf } from "../../../sets/verify.ts";
import { type ReportDocument, reportOf, type ReportStamp } from "../output/report.ts";
import { deletionText } from "./set-view.ts";

/** The outcome of a rollout, which decides the exit code. */
export type RolloutOutcome = "complete" | "failed" | "incomplete";

/** One stage; unknown values are null. */
export interface StageItem {
  readonly name: string;
  readonly state: StageStatus["state"];
  readonly clusters: number;
  readonly done: number;
  readonly updating: number;
  readonly failed: number;
  readonly unreachable: number;
  readonly startedAt: string | null;
  readonly doneAt: string | null;
  readonly approvedBy: string | null;
  /** Clusters that are done, where checks are asked before. Absent: the stage asks none, or the rollout goes back, when nobody is asked. */
  readonly verified?: number;
}

/** One condition of the set. */
interface ConditionItem {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string | null;
}

/** One cluster that needs attention. */
interface NotableItem {
  readonly cluster: string;
  readonly state: string;
  readonly reason: string;
  readonly message: string;
}

/** The rollout of one set in a document. */
export interface RolloutItem {
  readonly kind: FleetSetKind;
  readonly namespace: string;
  readonly name: string;
  /** `spec.template.spec.version`. */
  readonly version: string | null;
  readonly outcome: RolloutOutcome;
  readonly phase: RolloutPhase | null;
  readonly stage: string | null;
  /** What the rollout waits for, as a sentence. */
  readonly waitingFor: string | null;
  readonly startedAt: string | null;
  readonly currentRevision: string | null;
  readonly updateRevision: string | null;
  readonly failedRevision: string | null;
  readonly clusters: Readonly<Record<string, number>> | null;
  readonly stages: readonly StageItem[];
  readonly notable: readonly NotableItem[];
  readonly conditions: readonly ConditionItem[];
  /** Why all this is old: the hub does not take a newer status. Foreign text; absent: it takes it. */
  readonly statusRefused?: string;
}

export const failedPhases: readonly (RolloutPhase | undefined)[] = [
  "Halted",
  "RollingBack",
  "RolledBack",
];

/** The document of several sets. Its outcome is the worst one. */
export type RolloutStatus = ReportDocument<
  "RolloutStatus",
  { readonly outcome: RolloutOutcome },
  RolloutItem
>;

/** The document of the rollouts of sets; null: these may not be read. */
export function rolloutStatusOf(
  all: readonly RolloutItem[] | null,
  stamp: ReportStamp,
): RolloutStatus {
  const items = all ?? [];
  const outcomes = items.map(({ outcome }) => outcome);
  const worst = (["failed", "incomplete"] as const).find((one) => outcomes.includes(one));
  return reportOf("RolloutStatus", stamp, {
    complete: all !== null,
    summary: { outcome: worst ?? "complete" },
    items,
    errors: [],
  });
}

/** True when the status describes the latest spec. */
export function isObserved({ metadata, status }: FleetSet): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

/** The outcome of a set's rollout. It is incomplete while the status does not describe the latest spec. */
export function outcomeOf(set: FleetSet): RolloutOutcome {
  const phase = set.status?.rollout?.phase;
  if (set.metadata.deletionTimestamp !== undefined || !isObserved(set)) return "incomplete";
  if (phase === "Complete") return "complete";
  return failedPhases.includes(phase) ? "failed" : "incomplete";
}

/** The rollout of a set, read from the set alone. */
export function rolloutItemOf(set: FleetSet): RolloutItem {
  const { kind, metadata, spec, status = {} } = set;
  const { stages = [], notable = [], conditions = [] } = status;
  return {
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    version: spec.template.spec?.version ?? null,
    outcome: outcomeOf(set),
    waitingFor: waitingForOf(set),
    ...positionOf(status),
    clusters: status.clusters ?? null,
    stages: stages.map((stage) => ({ ...stageItemOf(stage), ...verifiedOf(set, stage) })),
    notable: notable.map(({ cluster, state, reason, message }) => ({
      cluster,
      state,
      reason,
      message,
    })),
    conditions: conditions.map(({ type, status: holds, reason, message, lastTransitionTime }) => ({
      type,
      status: holds,
      reason: reason ?? "",
      message: message ?? "",
      since: lastTransitionTime ?? null,
    })),
  };
}

function positionOf({ rollout, currentRevision, updateRevision }: FleetSetStatus) {
  return {
    phase: rollout?.phase ?? null,
    stage: rollout?.stage ?? null,
    startedAt: rollout?.startedAt ?? null,
    currentRevision: currentRevision ?? null,
    updateRevision: updateRevision ?? null,
    failedRevision: rollout?.failedRevision ?? null,
  };
}

function stageItemOf({ startedAt, doneAt, approvedBy, ...stage }: StageStatus): StageItem {
  const { name, state, clusters, done, updating, failed, unreachable } = stage;
  return {
    name,
    state,
    clusters,
    done,
    updating,
    failed,
    unreachable,
    startedAt: startedAt ?? null,
    doneAt: doneAt ?? null,
    approvedBy: approvedBy ?? null,
  };
}

const goesBack: readonly (RolloutPhase | undefined)[] = ["RollingBack", "RolledBack"];

function verifiedOf(set: FleetSet, { name, done }: StageStatus): Pick<StageItem, "verified"> {
  const isAsked = !goesBack.includes(set.status?.rollout?.phase);
  return isAsked && verifyOf(set, name) !== undefined ? { verified: done } : {};
}

/** What the rollout waits for, as a sentence; null when it continues by itself or is complete. */
function waitingForOf(set: FleetSet): string | null {
  const { metadata, status } = set;
  if (metadata.deletionTimestamp !== undefined) return deletionText(set);
  if (status?.rollout === undefined) return "No controller has written a status yet";
  if (!isObserved(set)) return "The controller has not seen the latest change of the set yet";
  const { phase, waitingFor, stage = "" } = status.rollout;
  if (phase === "Paused") return pauseOf(set) ?? "The set was paused a moment ago";
  if (waitingFor !== undefined && waitingFor !== "") return waitingFor;
  if (phase === "AwaitingApproval") return approvalAfter.of(stage);
  return phase === "Soaking" ? soakOf(set, stage) : null;
}

/** Why a set is paused, as a sentence; undefined when it is not. */
export function pauseOf({ spec, metadata }: FleetSet): string | undefined {
  const reason = metadata.annotations?.[steering.pause];
  if (reason !== undefined) return `The set is paused: ${reason === "" ? "no reason" : reason}`;
  return spec.rollout?.paused === true ? "The set is paused: spec.rollout.paused" : undefined;
}

function soakOf({ spec, status }: FleetSet, name: string): string {
  const doneAt = Date.parse(status?.stages?.find((stage) => stage.name === name)?.doneAt ?? "");
  const soak = spec.rollout?.stages?.find((stage) => stage.name === name)?.after?.soak;
  const end = doneAt + durationOf(soak, 0);
  const until = Number.isNaN(end) ? "" : ` until ${timestampOf(new Date(end))}`;
  return `Stage ${name} is done and is watched${until}`;
}
