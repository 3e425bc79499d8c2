import { type ClusterProfile, isHealthy, leavingMessage } from "../api/cluster-profile.ts";
import type { Component } from "../api/component.ts";
import { conditionOf } from "../api/conditions.ts";
import { editedContent, setAnnotations } from "../api/fleet-set.ts";
import { noDigest } from "../render/content.ts";
import { targetVersion } from "../render/release/version.ts";
import {
  failedTypes,
  graceMs,
  hasRevision,
  isLate,
  isObserved,
  isStale,
  componentCondition,
  timeOf,
  updatedAtOf,
} from "./component-condition.ts";
import type { DesiredSpec } from "./desired-spec.ts";
import { differingField, fieldManagerOf } from "./differing-field.ts";
import { countsFromOf, type DeadlineTimes, guessOf, type Standing } from "./standing.ts";
import { refusedStep } from "./version-step.ts";

export type ClusterStateName =
  | "Excluded"
  | "Blocked"
  | "Unreachable"
  | "Pending"
  | "Updating"
  | "Settling"
  | "Verifying"
  | "Done"
  | "Failed"
  | "TimedOut"
  | "Diverged";

/** States of a cluster that has begun and is not done. It holds a slot of its stage. */
export const movingStates: readonly ClusterStateName[] = ["Updating", "Settling", "Verifying"];

/** Reason of a pending cluster on which another set has to be done first. */
export const waitsForSet = "WaitsForSet";

/** State of one cluster of a set. */
export interface ClusterState {
  readonly name: ClusterStateName;
  readonly reason: string;
  readonly message: string;
  /** Ms since the epoch at which the state may change by itself. */
  readonly until?: number;
  /** The cluster does not answer, and counts as failed. */
  readonly isDark?: true;
  /** It may have halted the rollout before the status of the set was lost: until it is done or fails, no other cluster starts. */
  readonly isUncertain?: true;
}

/** The facts that decide the state of a cluster. Times are ms since the epoch. */
export interface ClusterFacts {
  readonly profile: ClusterProfile | undefined;
  readonly child: Component | undefined;
  readonly desired: DesiredSpec;
  /** Name of the revision that the cluster is to have. */
  readonly revision: string;
  /** The digest of the revision is known, and therefore also that of its stamps. Absent: unknown. */
  readonly hasDigest?: boolean;
  /** Why the cluster keeps its present installation. */
  readonly excluded: string | undefined;
  /** The cluster belongs to another owner, or the hub refused the component. */
  readonly obstacle: { readonly reason: string; readonly message: string } | undefined;
  /** The obstacle before the cluster gets a revision; absent: none. */
  readonly waitsFor?: string | undefined;
  /** What is known about it since its last stamp; undefined: nothing. */
  readonly standing?: Standing | undefined;
}

/** The facts that all clusters of a set share. Times are ms since the epoch. */
export interface Timing extends DeadlineTimes {
  readonly minReadyMs: number;
  /** When a pause ended: deadlines count from here. */
  readonly resumedAt: number;
  /** When a user asked to try the revision again. */
  readonly retriedAt: number;
  readonly isPaused: boolean;
  /** Whether the last decision halted the rollout. */
  readonly isHalted: boolean;
  /** Whether it may have been: the status is lost. */
  readonly mayBeHalted: boolean;
}

/** The state of one cluster. Pure; the first rule that holds decides. Spec: sets.md 6, R3 to R5, R8. */
export function clusterState(facts: ClusterFacts, timing: Timing): ClusterState {
  return (
    stateWithoutChild(facts) ??
    darkState(facts, timing) ??
    stateBeforeStamp(facts, timing) ??
    stateAfterStamp(facts, timing)
  );
}

function stateWithoutChild({
  excluded,
  obstacle,
  desired,
}: ClusterFacts): ClusterState | undefined {
  if (excluded !== undefined) return { name: "Excluded", reason: "Excluded", message: excluded };
  if (obstacle !== undefined) return { name: "Blocked", ...obstacle };
  if (!("missing" in desired)) return undefined;
  const message = `The ClusterProfile gives no value for $(${desired.missing})`;
  return { name: "Blocked", reason: "ValueMissing", message };
}

/**
 * An unreachable cluster is no failure, with one exception. When the rollout is halted and the cluster had failed before it went dark, it keeps the halt
 * until it answers and is ready, or until a user asks to try again.
 */
function darkState(facts: ClusterFacts, timing: Timing): ClusterState | undefined {
  const dark = unreachableState(facts, timing);
  if (dark === undefined || !(timing.isHalted || timing.mayBeHalted)) return dark;
  const { child, desired, revision, standing } = facts;
  if (child === undefined || !hasRevision(child, revision)) return dark;
  if (standing !== undefined && standing.hasFailed !== true) return dark;
  const version = "spec" in desired ? desired.spec["version"] : undefined;
  const isReady = readyState(child, version, timing) !== undefined;
  if (isReady || isRetriedAfterStamp(child, timing)) return dark;
  const message = `Had failed when it went dark: ${dark.message}`;
  return { name: "Failed", reason: dark.reason, message, isDark: true };
}

function unreachableState(
  { profile, child }: ClusterFacts,
  { now }: Timing,
): ClusterState | undefined {
  const name = "Unreachable";
  if (profile === undefined) {
    return { name, reason: "ClusterProfileNotFound", message: "The ClusterProfile does not exist" };
  }
  const leaving = leavingMessage(profile);
  if (leaving !== undefined) return { name, reason: "ClusterProfileNotReady", message: leaving };
  if (!isHealthy(profile)) {
    const message = "ControlPlaneHealthy of the ClusterProfile is not True";
    return { name, reason: "ClusterProfileNotReady", message };
  }
  if (child === undefined) return undefined;
  const resolved = componentCondition(child, "TargetClusterResolved");
  if (resolved.means !== "Unreachable" || isStale(child, resolved, now)) return undefined;
  return { name, reason: resolved.reason, message: resolved.message };
}

function stateBeforeStamp(facts: ClusterFacts, timing: Timing): ClusterState | undefined {
  const { child, desired, waitsFor } = facts;
  if ("missing" in desired) return undefined;
  const pending: ClusterState =
    waitsFor === undefined
      ? { name: "Pending", reason: "Pending", message: "" }
      : { name: "Pending", reason: waitsForSet, message: waitsFor };
  if (child === undefined) return pending;
  if (isStamped(child, facts) && !isToBeRetried(facts, timing)) return undefined;
  const installed = { kind: child.kind, installed: child.status?.version };
  const step = refusedStep(installed, desired.spec["version"]);
  if (step !== undefined) return { name: "Blocked", reason: "VersionNotEligible", message: step };
  if (child.metadata.deletionTimestamp === undefined) return pending;
  return { name: "Pending", reason: "Deleting", message: "The component is being deleted" };
}

function isStamped(
  child: Component,
  { desired, revision, hasDigest = false }: ClusterFacts,
): boolean {
  const { [setAnnotations.spec]: hash, [setAnnotations.content]: content } =
    child.metadata.annotations ?? {};
  const isPromised = !hasDigest || content !== undefined;
  return isPromised && hasRevision(child, revision) && "hash" in desired && hash === desired.hash;
}

/** Whether a cluster that failed was not stamped since a user asked to try again. */
function isToBeRetried(facts: ClusterFacts, timing: Timing): boolean {
  if (facts.child === undefined || !isRetriedAfterStamp(facts.child, timing)) return false;
  return isFailed(stateAfterStamp(facts, { ...timing, retriedAt: 0 }));
}

/** After the clock went back, a wish with a later time does not count: each stamp would be before it. */
function isRetriedAfterStamp(child: Component, { now, retriedAt }: Timing): boolean {
  return retriedAt <= now && updatedAtOf(child, now) < retriedAt;
}

function stateAfterStamp(facts: ClusterFacts, timing: Timing): ClusterState {
  const { child, desired, standing } = facts;
  if (child === undefined || "missing" in desired) {
    return { name: "Pending", reason: "Pending", message: "" };
  }
  const blocked = blockedState(child, timing.now);
  if (blocked !== undefined) return blocked;
  const diverging = differingField(desired.spec, child.spec ?? {});
  // Until its installation is ready, the cluster occupies its slot and may fail, also when another writer changed it.
  const wanted = diverging === undefined ? desired.spec["version"] : undefined;
  const settled = settledState({ child, standing }, wanted, timing);
  if (diverging !== undefined && settled?.name === "Done") return divergedState(child, diverging);
  return settled ?? failedState(child, timing.now) ?? lateState({ child, standing }, timing);
}

function divergedState({ metadata }: Component, path: readonly string[]): ClusterState {
  const manager = fieldManagerOf(metadata.managedFields ?? [], path);
  const who = manager === undefined ? "somebody else" : `the field manager ${manager}`;
  const message = `spec.${path.join(".")} is not what the set wants; ${who} has changed it`;
  return { name: "Diverged", reason: "Ready", message };
}

/** Whether a stage may be passed with a cluster in this state, without any budget. A cluster that differs on purpose holds nothing up when it is ready. */
export function isThrough({ name }: ClusterState): boolean {
  return name === "Done" || name === "Diverged";
}

/** Whether a cluster counts against `maxFailures`. */
export function isFailed({ name }: ClusterState): boolean {
  return name === "Failed" || name === "TimedOut";
}

function blockedState(child: Component, now: number): ClusterState | undefined {
  const eligible = componentCondition(child, "VersionMigrationEligible");
  if (eligible.status === "False" && !isStale(child, eligible, now)) {
    return { name: "Blocked", reason: "VersionNotEligible", message: eligible.message };
  }
  const installed = componentCondition(child, "InstallSucceeded");
  if (installed.means !== "Blocked" || isStale(child, installed, now)) return undefined;
  return { name: "Blocked", reason: installed.reason, message: installed.message };
}

interface Watched {
  readonly child: Component;
  readonly standing: Standing | undefined;
}

/** As `readyState`. A crash loop that halted the rollout, or may have before the status was lost, does not end the halt each time that it is ready for a moment. */
function settledState(watched: Watched, wanted: unknown, timing: Timing): ClusterState | undefined {
  const settled = readyState(watched.child, wanted, timing);
  const { now, isHalted, deadlineMs } = timing;
  if (settled === undefined || deadlineMs === undefined) return settled;
  const isUncertain = isUncertainWith(watched, timing);
  if (!isUncertain && (!isHalted || now < countsFrom(watched, timing) + deadlineMs)) return settled;
  const open = isUncertain
    ? ({ name: "Settling", isUncertain: true } as const)
    : ({ name: "TimedOut" } as const);
  if (settled.name === "Settling") return { ...settled, ...open };
  const until = readySince(watched.child, now) + Math.min(deadlineMs, 5 * graceMs);
  return now < until ? { ...tooShort, ...open, until } : settled;
}

/** Whether a cluster may have timed out, and the status of the set does not say whether it did. */
function isUncertainWith(watched: Watched, timing: Timing): boolean {
  const { child, standing } = watched;
  const { now, isHalted, mayBeHalted, deadlineMs = Number.POSITIVE_INFINITY } = timing;
  const isGuess = standing?.isGuess === true;
  const mayHaveFailed = mayBeHalted || (isGuess && standing.hasFailed === true);
  if (isHalted || !mayHaveFailed) return false;
  // A guess gives a minute after the last change, which here would end the doubt at once.
  const from = isGuess
    ? Math.max(updatedAtOf(child, now), ...restartsOf(child, timing))
    : countsFrom(watched, timing);
  return now >= from + deadlineMs;
}

/** From when the deadline of a cluster counts. */
function countsFrom({ child, standing }: Watched, timing: Timing): number {
  const { now, isHalted } = timing;
  const known = standing ?? guessOf(child, timing);
  const seen = countsFromOf(known, child, timing);
  return Math.max(updatedAtOf(child, now), seen, ...(isHalted ? [] : restartsOf(child, timing)));
}

/** When the deadline of a cluster began again: the set went on after a pause, or the component after its cluster was unreachable, or its version not eligible. */
export function restartsOf(
  child: Component,
  { now, resumedAt }: Pick<Timing, "now" | "resumedAt">,
): readonly number[] {
  return [resumedAt, ...backTimes(child, now)];
}

/** Done and Settling. Spec: sets.md R3. */
function readyState(
  child: Component,
  version: unknown,
  { now, minReadyMs }: Timing,
): ClusterState | undefined {
  if (!isReadyWith(child, version)) return undefined;
  const until = readySince(child, now) + minReadyMs;
  if (now >= until) return { name: "Done", reason: "Ready", message: "" };
  return { ...tooShort, name: "Settling", until };
}

const tooShort = { reason: "Settling", message: "Ready for too short a time yet" } as const;

/** Since when a component that is ready now has been so since its stamp. */
export function readySince(child: Component, now: number): number {
  const ready = conditionOf(child.status?.conditions, "Ready");
  return Math.max(timeOf(ready?.lastTransitionTime, now), updatedAtOf(child, now));
}

/** Whether a component is ready with the spec that it has now, and with a version. */
export function isReadyWith(child: Component, version: unknown): boolean {
  const ready = conditionOf(child.status?.conditions, "Ready");
  const isOfSpec = isObserved(child) && isOfVersion(child, version) && hasContent(child);
  return ready?.status === "True" && isOfSpec;
}

/** Whether the stamped content is installed. A stamp that changes nothing else raises no generation. */
function hasContent({ metadata, status }: Component): boolean {
  const stamped = metadata.annotations?.[setAnnotations.content];
  const installed = status?.annotations?.[setAnnotations.content];
  if (stamped === undefined || stamped.endsWith(noDigest)) return true;
  return installed === stamped || installed === editedContent;
}

function isOfVersion({ kind, status }: Component, wanted: unknown): boolean {
  const installed = status?.version;
  if (typeof wanted !== "string" || wanted === "") return true;
  return installed !== undefined && targetVersion(wanted, [installed], kind) === installed;
}

function failedState(child: Component, now: number): ClusterState | undefined {
  if (!isObserved(child)) return undefined;
  for (const type of failedTypes) {
    const condition = componentCondition(child, type);
    const isFinal = condition.means === "Failed" || isLate(condition);
    if (!isFinal || isStale(child, condition, now)) continue;
    return { name: "Failed", reason: condition.reason, message: condition.message };
  }
  return undefined;
}

/**
 * Updating or TimedOut. The deadline counts the time since the stamp in which the cluster was not done: a cluster that is ready only for short times
 * does time out. The deadline starts again after the cluster was unreachable or blocked, or the set paused. During a halt it does not start again:
 * only a cluster that is done, or another stamp, ends the halt.
 */
function lateState({ child, standing }: Watched, timing: Timing): ClusterState {
  const { now, deadlineMs, isPaused, isHalted } = timing;
  const { reason, message } = componentCondition(child, "Ready");
  const facts = { name: "Updating", reason, message } as const;
  // From then on the status of the component counts, though nothing changes.
  const countsAt = updatedAtOf(child, now) + graceMs;
  const untilCounts = now < countsAt ? countsAt : Number.POSITIVE_INFINITY;
  const isStopped = deadlineMs === undefined || (isPaused && !isHalted);
  if (isStopped) return { ...facts, ...untilTime(untilCounts) };
  const until = countsFrom({ child, standing }, timing) + deadlineMs;
  if (now >= until) return { ...facts, name: "TimedOut" };
  const known = isUncertainWith({ child, standing }, timing) ? { isUncertain: true as const } : {};
  return { ...facts, ...known, ...untilTime(Math.min(until, untilCounts)) };
}

/** A time to look again, where there is one. */
export function untilTime(until: number): Pick<ClusterState, "until"> {
  return Number.isFinite(until) ? { until } : {};
}

/** When a component could go on after its cluster was unreachable, or its version not eligible. */
function backTimes(child: Component, now: number): readonly number[] {
  const conditions = (["TargetClusterResolved", "VersionMigrationEligible"] as const).map((type) =>
    componentCondition(child, type),
  );
  return conditions.flatMap(({ status, since }) => (status === "True" ? [timeOf(since, now)] : []));
}
