import { conditionOf } from "../../api/conditions.ts";
import { type Condition, describe, nameFirst } from "../../api/kubernetes.ts";
import type { ConditionType } from "../../api/reasons.ts";
import { unusedConfigMessage } from "../../render/features/named-objects.ts";
import type { ChangeSet, Progress, Trouble, Waiting } from "../apply/change-set.ts";

/** The number of objects of an installation that are not removed yet. */
export interface Remaining {
  readonly left: number;
  /** Absent: the objects were not counted before the removal. */
  readonly total?: number;
}

/** Reason and message of a condition whose work goes on; its status is Unknown. */
export type Underway = Pick<Condition, "reason" | "message">;

/** Reasons of conditions that are Unknown because work goes on. A test compares docs/reasons.md with them. */
export const workingReasons = ["Connecting", "Installing", "Finalizing"] as const;

const maxCauses = 2;

/** `81 of 150 objects applied, 2 waiting for webhook a.b, 1 refused`. */
export function progressMessage({ done, total, waiting, failed }: Progress): string {
  const named = waiting.slice(0, maxCauses).map(waitingText);
  const others = waiting.slice(maxCauses).reduce((sum, { count }) => sum + count, 0);
  return [
    `${done} of ${total} objects applied`,
    ...named,
    ...(others === 0 ? [] : [`${others} waiting for something else`]),
    ...(failed === 0 ? [] : [`${failed} refused`]),
  ].join(", ");
}

/** The obstacle of an apply, with the name of an object. Undefined when the apply waits for Deployments only. */
export function waitingMessage({
  parked,
  lingering = [],
}: Pick<ChangeSet, "parked"> & Partial<Pick<ChangeSet, "lingering">>): string | undefined {
  const waiting = [...parked, ...lingering];
  return waiting.length === 0 ? undefined : troublesMessage(waiting);
}

/** The first object in the order of names, and the number of the others. */
export function troublesMessage(troubles: readonly Trouble[]): string {
  const texts = troubles.map(({ key, message }) => `${describe(key)}: ${message}`).toSorted();
  const more = texts.length - 1;
  return more === 0 ? `${texts[0]}` : `${texts[0]} (and ${more} more)`;
}

/** The progress of a removal; undefined before its objects are counted. */
export type Removing = Remaining | "looking for users" | undefined;

/** `Removing from ClusterProfile fleet/a: 34 of 150 objects left`. */
export function removalMessage(cluster: string, remaining: Removing): string {
  if (remaining === "looking for users") {
    return `Looking for users on ${inSentence(cluster)} before the removal`;
  }
  const from = `Removing from ${inSentence(cluster)}`;
  if (remaining === undefined) return from;
  const { left, total } = remaining;
  const all = total === undefined ? "" : ` of ${total}`;
  return `${from}: ${left}${all} ${left === 1 && total === undefined ? "object" : "objects"} left`;
}

/** Whether the conditions of a removal show why its last attempt failed, and not only its progress. */
export function showsRemovalFailure(conditions: readonly Condition[] = []): boolean {
  const types: readonly ConditionType[] = ["DeploymentsAvailable", "InstallSucceeded"];
  const [progress, install] = types.map((type) => conditionOf(conditions, type));
  return progress?.reason === "Finalizing" && install?.message !== progress.message;
}

/** Reasons and messages of the conditions before anything is applied. `cluster` names the target, for example `ClusterProfile fleet/a`. */
export function beginningOf(cluster: string): Readonly<Record<ConditionType, Underway>> {
  return {
    TargetClusterResolved: {
      reason: "Connecting",
      message: `Connecting to ${inSentence(cluster)}`,
    },
    VersionMigrationEligible: installing("Reading the release"),
    InstallSucceeded: installing("Nothing is applied yet"),
    DeploymentsAvailable: installing("Waiting for the objects to be applied"),
    DependenciesInstalled: installing("Waiting for the installation to be complete"),
  };
}

function installing(message: string): Underway {
  return { reason: "Installing", message };
}

/** Whether a condition has no result yet, so that its message may be replaced. */
export function isUnderway({ status, reason }: Condition): boolean {
  if (status !== "Unknown") return false;
  return reason === undefined || workingReasons.some((working) => working === reason);
}

/** `The hub` in the middle of a sentence. */
function inSentence(cluster: string): string {
  return cluster.replace(/^The /, "the ");
}

function waitingText({ message, count }: Waiting): string {
  // Names of the API keep their capitals, the sentence does not.
  const cause = /^[A-Z][a-z]/.test(message)
    ? message.charAt(0).toLowerCase() + message.slice(1)
    : message;
  return cause.startsWith("waiting for ") ? `${count} ${cause}` : `${count} waiting: ${cause}`;
}

const maxScaledNamed = 10;

/** `Scaled to zero: activator, autoscaler`: the workloads that another writer scaled to zero. */
export function scaledMessage(names: readonly string[]): string {
  return `Scaled to zero: ${nameFirst(names, maxScaledNamed)}`;
}

const maxJobsNamed = 3;

/** The first sentences about failed Jobs, and the number of the others; undefined without any. */
export function failedJobsMessage(failed: readonly string[] = []): string | undefined {
  if (failed.length === 0) return undefined;
  const more = failed.length - maxJobsNamed;
  const named = failed.slice(0, maxJobsNamed).join("; ");
  return more > 0 ? `${named} (and ${more} more)` : named;
}

/** The message for an installation that keeps its objects until its set stamps it. */
export function waitsForStageMessage(stage: string): string {
  return `keeps what is installed, because the release files or their rendering have changed; waits for stage ${stage} of its set`;
}

/** The additions to the condition of an install: Jobs that failed, and entries of `spec.config` without effect. */
export function installRemarks({
  failedJobs,
  unusedConfig = [],
  waitsForStage,
}: {
  readonly failedJobs?: readonly string[];
  readonly unusedConfig?: readonly string[];
  readonly waitsForStage?: string;
}): readonly string[] {
  const waits = waitsForStage === undefined ? undefined : waitsForStageMessage(waitsForStage);
  const remarks = [failedJobsMessage(failedJobs), unusedConfigMessage(unusedConfig), waits];
  return remarks.filter((text) => text !== undefined);
}
