import type { ClusterProfile } from "../api/cluster-profile.ts";
import type { Component } from "../api/component.ts";
import { conditionOf } from "../api/conditions.ts";
import { setAnnotations, setLabels } from "../api/fleet-set.ts";
import type { Reason } from "../api/reasons.ts";
import { targetVersion } from "../render/release/version.ts";
import type { DesiredSpec } from "./desired-spec.ts";
import { differingField } from "./differing-field.ts";
import { refusedStep } from "./version-step.ts";

export type ClusterStateName =
  | "Excluded"
  | "Blocked"
  | "Unreachable"
  | "Pending"
  | "Updating"
  | "Settling"
  | "Done"
  | "Failed"
  | "TimedOut"
  | "Diverged";

/** State of one cluster of a set. */
export interface ClusterState {
  readonly name: ClusterStateName;
  readonly reason: string;
  readonly message: string;
  /** Ms since the epoch at which the state may change by itself. */
  readonly until?: number;
}

/** What the state of a cluster follows from. Times are ms since the epoch. */
export interface ClusterFacts {
  readonly profile: ClusterProfile | undefined;
  readonly child: Component | undefined;
  readonly desired: DesiredSpec;
  /** Name of the revision that the cluster is to have. */
  readonly revision: string;
  /** The cluster keeps what it has, and why. */
  readonly excluded: string | undefined;
  /** Somebody else has the cluster, or the hub refused the component. */
  readonly obstacle: { readonly reason: string; readonly message: string } | undefined;
}

/** What holds for all clusters of a set. Times are ms since the epoch. */
export interface Timing {
  readonly now: number;
  readonly minReadyMs: number;
  /** Undefined: a cluster never times out. */
  readonly deadlineMs: number | undefined;
  /** When a pause ended: deadlines count from here. */
  readonly resumedAt: number;
  /** When somebody asked to try the revision again. */
  readonly retriedAt: number;
  readonly isPaused: boolean;
}

/** What a reason of a component means for the rollout. A test holds it to the catalogue of reasons. Spec: sets.md 6, 11. */
export const statesByReason: Readonly<
  Record<Reason, "Blocked" | "Unreachable" | "Failed" | "Updating">
> = {
  ClusterProfileNotFound: "Unreachable",
  ClusterProfileNotReady: "Unreachable",
  ClusterProfileUnavailable: "Updating",
  AccessProviderNotConfigured: "Updating",
  MulticlusterDisabled: "Updating",
  AccessProviderFailed: "Updating",
  RemoteClientCreationFailed: "Unreachable",
  SpokeUnreachable: "Unreachable",
  RemoteClusterStale: "Updating",
  ClusterProviderClosed: "Updating",
  ReferenceNotPermitted: "Failed",
  VersionNotEligible: "Blocked",
  ReleaseNotFound: "Failed",
  ManifestInvalid: "Failed",
  ManifestSourceNotAllowed: "Failed",
  ManifestSourceUnavailable: "Updating",
  KubernetesVersionTooOld: "Failed",
  ApplyFailed: "Updating",
  AnchorConflict: "Failed",
  AnchorUnprotected: "Updating",
  DuplicateComponent: "Blocked",
  ClusterBusy: "Updating",
  DeploymentsNotReady: "Updating",
  ConfigInvalid: "Updating",
};

/** The same for the text of any reason. */
const meanings = new Map<string, Said["means"]>(Object.entries(statesByReason));

/** A failure counts only when it lasts this long after a stamp: the component may still show the result of the spec before. */
const graceMs = 60_000;

/** The state of one cluster. Pure; the first rule that holds decides. Spec: sets.md 6, R3 to R5, R8. */
export function clusterState(facts: ClusterFacts, timing: Timing): ClusterState {
  return (
    stateWithoutChild(facts) ??
    unreachableState(facts, timing) ??
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

function unreachableState(
  { profile, child, revision }: ClusterFacts,
  { now }: Timing,
): ClusterState | undefined {
  const name = "Unreachable";
  if (profile === undefined) {
    return { name, reason: "ClusterProfileNotFound", message: "The ClusterProfile does not exist" };
  }
  if (conditionOf(profile.status?.conditions, "ControlPlaneHealthy")?.status !== "True") {
    const message = "ControlPlaneHealthy of the ClusterProfile is not True";
    return { name, reason: "ClusterProfileNotReady", message };
  }
  if (child === undefined || !hasRevision(child, revision)) return undefined;
  const resolved = saidBy(child, "TargetClusterResolved");
  if (resolved.means !== "Unreachable" || isStale(child, resolved, now)) return undefined;
  return { name, reason: resolved.reason, message: resolved.message };
}

function stateBeforeStamp(facts: ClusterFacts, timing: Timing): ClusterState | undefined {
  const { child, desired } = facts;
  if ("missing" in desired) return undefined;
  const pending = { name: "Pending", reason: "Pending", message: "" } as const;
  if (child === undefined) return pending;
  if (isStamped(child, facts) && !isToBeRetried(facts, timing)) return undefined;
  const installed = { kind: child.kind, installed: child.status?.version };
  const step = refusedStep(installed, desired.spec["version"]);
  if (step !== undefined) return { name: "Blocked", reason: "VersionNotEligible", message: step };
  if (child.metadata.deletionTimestamp === undefined) return pending;
  return { name: "Pending", reason: "Deleting", message: "The component is being deleted" };
}

function isStamped(child: Component, { desired, revision }: ClusterFacts): boolean {
  const hash = child.metadata.annotations?.[setAnnotations.spec];
  return hasRevision(child, revision) && "hash" in desired && hash === desired.hash;
}

/** Somebody asked to try again after the last stamp of a cluster that failed. */
function isToBeRetried(facts: ClusterFacts, timing: Timing): boolean {
  if (facts.child === undefined || updatedAtOf(facts.child, timing.now) >= timing.retriedAt) {
    return false;
  }
  const { name } = stateAfterStamp(facts, { ...timing, retriedAt: 0 });
  return name === "Failed" || name === "TimedOut";
}

function stateAfterStamp(facts: ClusterFacts, timing: Timing): ClusterState {
  const { child, desired } = facts;
  if (child === undefined || "missing" in desired) {
    return { name: "Pending", reason: "Pending", message: "" };
  }
  const blocked = blockedState(child, timing.now);
  if (blocked !== undefined) return blocked;
  const settled = readyState(child, desired.spec["version"], timing);
  const diverging = differingField(desired.spec, child.spec ?? {}, []);
  if (diverging !== undefined) return divergedState(diverging, settled);
  return settled ?? failedState(child, timing.now) ?? lateState(child, timing);
}

function divergedState(field: string, settled: ClusterState | undefined): ClusterState {
  const message = `spec.${field} is not what the set wants; somebody else has changed it`;
  return { name: "Diverged", reason: settled?.name === "Done" ? "Ready" : "NotReady", message };
}

/** Whether a stage may be passed with a cluster in this state, without any budget. A cluster that differs on purpose holds nothing up when it is ready. */
export function isThrough({ name, reason }: ClusterState): boolean {
  return name === "Done" || (name === "Diverged" && reason === "Ready");
}

function blockedState(child: Component, now: number): ClusterState | undefined {
  const eligible = saidBy(child, "VersionMigrationEligible");
  if (eligible.status === "False" && !isStale(child, eligible, now)) {
    return { name: "Blocked", reason: "VersionNotEligible", message: eligible.message };
  }
  const installed = saidBy(child, "InstallSucceeded");
  if (installed.means !== "Blocked" || isStale(child, installed, now)) return undefined;
  return { name: "Blocked", reason: installed.reason, message: installed.message };
}

/** Done and Settling. Spec: sets.md R3. */
function readyState(
  child: Component,
  version: unknown,
  { now, minReadyMs }: Timing,
): ClusterState | undefined {
  const { status, metadata } = child;
  const ready = conditionOf(status?.conditions, "Ready");
  const isObserved = status?.observedGeneration === metadata.generation;
  if (ready?.status !== "True" || !isObserved || !isOfVersion(status?.version, version)) {
    return undefined;
  }
  const since = Math.max(timeOf(ready.lastTransitionTime, now), updatedAtOf(child, now));
  const until = since + minReadyMs;
  if (now >= until) return { name: "Done", reason: "Ready", message: "" };
  return { name: "Settling", reason: "Settling", message: "Ready for too short a time yet", until };
}

function isOfVersion(installed: string | undefined, wanted: unknown): boolean {
  if (typeof wanted !== "string" || wanted === "") return true;
  return installed !== undefined && targetVersion(wanted, [installed]) === installed;
}

const failedTypes = ["InstallSucceeded", "TargetClusterResolved", "DeploymentsAvailable"];

function failedState(child: Component, now: number): ClusterState | undefined {
  if (child.status?.observedGeneration !== child.metadata.generation) return undefined;
  for (const type of failedTypes) {
    const said = saidBy(child, type);
    const isLate = said.status === "False" && said.message.includes("ProgressDeadlineExceeded");
    const isFinal = said.means === "Failed" || isLate;
    if (!isFinal || isStale(child, said, now)) continue;
    return { name: "Failed", reason: said.reason, message: said.message };
  }
  return undefined;
}

/** Updating or TimedOut. After the cluster was unreachable or the set paused, the deadline starts again. */
function lateState(child: Component, timing: Timing): ClusterState {
  const { now, deadlineMs, resumedAt, isPaused } = timing;
  const { reason, message, since } = saidBy(child, "Ready");
  const facts = { reason, message };
  if (deadlineMs === undefined || isPaused) return { name: "Updating", ...facts };
  const resolved = saidBy(child, "TargetClusterResolved");
  const backAt = resolved.status === "True" ? timeOf(resolved.since, now) : 0;
  const started = Math.max(updatedAtOf(child, now), resumedAt, backAt);
  // A cluster that was done before may be unready for a moment; the rollout has not failed then.
  const trouble = timeOf(since, now) + Math.min(graceMs, deadlineMs);
  const until = Math.max(started + deadlineMs, trouble);
  if (now < until) return { name: "Updating", ...facts, until };
  return { name: "TimedOut", ...facts };
}

/** A condition of a component, and what its reason means for the rollout. */
interface Said {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string | undefined;
  readonly means: "Blocked" | "Unreachable" | "Failed" | "Updating" | undefined;
}

function saidBy({ status }: Component, type: string): Said {
  const said = conditionOf(status?.conditions, type) ?? { type, status: "Unknown" };
  const { reason = "", message = "", lastTransitionTime: since } = said;
  const means = said.status === "True" ? undefined : meanings.get(reason);
  return { status: said.status, reason, message, since, means };
}

/** Whether a condition may describe the spec before the stamp. It counts when it is newer than the stamp, or when the stamp is a minute old. */
function isStale(child: Component, { since }: Said, now: number): boolean {
  const updatedAt = updatedAtOf(child, now);
  const isObserved = child.status?.observedGeneration === child.metadata.generation;
  if (isObserved && timeOf(since, now) >= updatedAt) return false;
  return now - updatedAt < graceMs;
}

function hasRevision({ metadata }: Component, revision: string): boolean {
  return metadata.labels?.[setLabels.revision] === revision;
}

/** When the last revision was stamped on a child; a time in the future is now. */
function updatedAtOf({ metadata }: Component, now: number): number {
  return timeOf(metadata.annotations?.[setAnnotations.updatedAt], now);
}

/** Ms of a time of Kubernetes: 0 for none, now for the future and for what is no time. */
export function timeOf(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const time = Date.parse(text);
  return Number.isNaN(time) ? now : Math.min(time, now);
}
