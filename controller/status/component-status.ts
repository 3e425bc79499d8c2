import type { Component, ComponentStatus } from "../../api/component.ts";
import { conditionOf, readyOf, withCondition } from "../../api/conditions.ts";
import type { FleetError } from "../../api/errors.ts";
import { editedContent, setAnnotations } from "../../api/fleet-set.ts";
import type { Condition } from "../../api/kubernetes.ts";
import {
  type ConditionType,
  conditionTypes,
  contestedCondition,
  protectedCondition,
  type Reason,
  reasons,
  rollingOut,
  scaledToZero,
} from "../../api/reasons.ts";
import { type Progress, waitingFor } from "../apply/change-set.ts";
import { conflictMessage } from "../apply/filters/conflicts.ts";
import { clusterNameOf } from "../component-identity.ts";
import { protectionCondition } from "../guard/protection.ts";
import { retractedStatus } from "./doubt.ts";
import { withKstatus } from "./kstatus.ts";
import { isForNow, isComplete, type Steps, type Outcome, withoutUnreported } from "./outcome.ts";
import {
  beginningOf,
  isUnderway,
  progressMessage,
  removalMessage,
  scaledMessage,
  troublesMessage,
  waitingMessage,
  installRemarks,
} from "./progress.ts";

/** Failures whose condition has upstream's reason `Error`. Upstream has no reason for the other ones. */
const upstreamErrors: readonly Reason[] = ["ApplyFailed", "ManifestInvalid", "ReleaseNotFound"];

/** The status for an outcome. Equal input gives a byte-equal status. All other conditions stay as they are. Spec: knative-operator.md 4.5. */
export function statusOf(component: Component, outcome: Outcome, now: Date): ComponentStatus {
  const { status = {}, metadata } = component;
  if (outcome.kind === "seen") {
    const retracted = retractedStatus(status, outcome.doubt, now);
    if (retracted === status) return status;
    const reported = withKstatus(component, retracted.conditions ?? [], { outcome, now });
    return { ...retracted, conditions: reported };
  }
  if (changesNothing(status, outcome)) return status;
  let conditions = initialConditions(status.conditions ?? [], now);
  for (const entry of conditionsOf(conditions, outcome, component)) {
    conditions = withCondition(conditions, entry, now);
  }
  if (outcome.kind === "applied") conditions = withConflict(conditions, outcome, now);
  if (outcome.kind === "reported") conditions = withoutUnreported(conditions, outcome);
  conditions = withProtection(conditions, outcome, now);
  conditions = withCondition(conditions, { type: "Ready", ...readyOf(conditions) }, now);
  conditions = withKstatus(component, conditions, { outcome, now });
  const { generation } = metadata;
  return {
    ...status,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    conditions,
    ...installedFields(outcome),
    ...setFields(status, outcome),
  };
}

/**
 * Whether an attempt ended before it sent anything. It must not set observedGeneration: the success of an older generation would look like the success of this one. A component that
 * was never installed has no such success, so its status shows that its cluster answers.
 */
function changesNothing(status: ComponentStatus, outcome: Outcome): boolean {
  const { conditions = [], version } = status;
  if (outcome.kind !== "working" || outcome.progress !== undefined) return false;
  if (conditions.length === 0) return false;
  const installed = conditionOf(conditions, "InstallSucceeded");
  const isFirst = version === undefined && installed?.status === "Unknown";
  return !(isFirst && outcome.steps.resolved);
}

/** Conflicts have a condition on which `Ready` does not depend. It is removed when they are over. */
function withConflict(
  conditions: readonly Condition[],
  { changes: { conflicts = [] }, unsureMs = 0 }: Extract<Outcome, { kind: "applied" }>,
  now: Date,
): readonly Condition[] {
  const others = conditions.filter(({ type }) => type !== contestedCondition);
  const wasReported = others.length < conditions.length;
  if (wasReported && unsureMs > 0) return conditions;
  if (conflicts.length === 0) return others;
  const message = conflictMessage(conflicts);
  const reason = contestedCondition;
  return withCondition(conditions, { type: reason, status: "True", reason, message }, now);
}

function withProtection(
  conditions: readonly Condition[],
  { protection }: Outcome,
  now: Date,
): readonly Condition[] {
  if (protection === undefined) return conditions;
  if (protection === "off") return conditions.filter(({ type }) => type !== protectedCondition);
  return withCondition(conditions, protectionCondition(protection), now);
}

type Entry = Omit<Condition, "lastTransitionTime">;

/** Missing conditions begin as Unknown; on a component that is ready already, as True. Spec: knative-operator.md 4.1. */
function initialConditions(conditions: readonly Condition[], now: Date): readonly Condition[] {
  const ready = conditionOf(conditions, "Ready")?.status === "True";
  let all = conditions;
  for (const type of conditionTypes) {
    if (all.some((condition) => condition.type === type)) continue;
    all = withCondition(all, { type, status: ready ? "True" : "Unknown" }, now);
  }
  return all;
}

function conditionsOf(
  current: readonly Condition[],
  outcome: Exclude<Outcome, { kind: "seen" }>,
  component: Component,
): readonly Entry[] {
  const cluster = clusterNameOf(component);
  if (outcome.kind === "applied") return appliedConditions(current, outcome);
  if (outcome.kind === "reported") return outcome.conditions;
  const steps = stepConditions(outcome.steps);
  if (outcome.kind === "failed") {
    const isRemoval = component.metadata.deletionTimestamp !== undefined;
    const { obstacle } = outcome.steps;
    const errors = [outcome.error, ...(obstacle === undefined ? [] : [obstacle])];
    const work = isRemoval ? "Removal" : "Install";
    const failures = errors.flatMap((error) =>
      isForNow(error) ? pausedConditions(error, work, cluster) : failureConditions(error, work),
    );
    const seen = outcome.steps.resolved
      ? reachableAgain(current, cluster)
      : permittedAgain(current, cluster);
    // A condition that was set twice would get a new transition time with every attempt.
    const others = [...steps, ...seen].filter(({ type }) =>
      failures.every((failure) => failure.type !== type),
    );
    return [...others, ...failures];
  }
  if (outcome.kind === "removing") {
    return [...steps, ...removalConditions(removalMessage(cluster, outcome.remaining))];
  }
  return [
    ...beginningConditions(current, cluster),
    ...steps,
    ...progressConditions(outcome.progress),
  ];
}

function stepConditions({ eligible, resolved }: Steps): readonly Entry[] {
  return [
    ...(eligible ? [trueCondition("VersionMigrationEligible")] : []),
    ...(resolved ? [trueCondition("TargetClusterResolved")] : []),
  ];
}

/** The condition of Deployments whose cluster answers again: their state is not known yet. */
function reachableAgain(current: readonly Condition[], cluster: string): readonly Entry[] {
  const type = "DeploymentsAvailable";
  const was = conditionOf(current, type);
  if (was?.reason !== "SpokeUnreachable") return [];
  return [{ type, status: "Unknown", ...beginningOf(cluster)[type] }];
}

/** The condition of a component that may use its cluster again. The permission is checked first, so any other failure proves it. */
function permittedAgain(current: readonly Condition[], cluster: string): readonly Entry[] {
  const type = "TargetClusterResolved";
  const was = conditionOf(current, type);
  if (was?.reason !== "ReferenceNotPermitted") return [];
  return [{ type, status: "Unknown", ...beginningOf(cluster)[type] }];
}

function progressConditions(progress: Progress | undefined): readonly Entry[] {
  if (progress === undefined) return [];
  return [installingCondition(progressMessage(progress))];
}

/** New messages for the conditions that are still Unknown. A failure stays until its condition has a new result. */
function beginningConditions(current: readonly Condition[], cluster: string): readonly Entry[] {
  const words = beginningOf(cluster);
  const open = conditionTypes.filter((type) =>
    current.some((condition) => condition.type === type && isUnderway(condition)),
  );
  return open.map((type) => ({ type, status: "Unknown", ...words[type] }));
}

/** The removal also replaces the state of the Deployments, because they are being deleted. */
function removalConditions(message: string): readonly Entry[] {
  const types = ["DeploymentsAvailable", "InstallSucceeded"] as const;
  return types.map((type) => ({ type, status: "Unknown", reason: "Finalizing", message }));
}

function appliedConditions(
  current: readonly Condition[],
  outcome: Extract<Outcome, { kind: "applied" }>,
): readonly Entry[] {
  const steps = stepConditions({ eligible: true, resolved: true });
  return [
    ...steps,
    availabilityCondition(current, outcome),
    ...installConditions(current, outcome),
  ];
}

function availabilityCondition(
  current: readonly Condition[],
  { readiness }: Extract<Outcome, { kind: "applied" }>,
): Entry {
  const type = "DeploymentsAvailable";
  const { available, message, unseen, stuck, isRollingOut, scaledToZero: scaled = [] } = readiness;
  if (!available) {
    // The status of a StatefulSet does not show that its first rollout goes on.
    const isInstalling = conditionOf(current, "InstallSucceeded")?.status === "Unknown";
    const isInTime = isRollingOut === true || (isInstalling && stuck?.length === 0);
    return { type, status: "False", reason: isInTime ? rollingOut : "NotReady", message };
  }
  if (unseen !== undefined) {
    return { type, status: "Unknown", reason: "NotWatched", message: unseen };
  }
  if (scaled.length === 0) return trueCondition(type);
  return { type, status: "True", reason: scaledToZero, message: scaledMessage(scaled) };
}

function installConditions(
  current: readonly Condition[],
  outcome: Extract<Outcome, { kind: "applied" }>,
): readonly Entry[] {
  const { failed } = outcome.changes;
  if (failed.length > 0) return [errorCondition("Install", troublesMessage(failed))];
  const progress = progressMessage(progressAfter(outcome.changes));
  const waiting = waitingMessage(outcome.changes);
  if (waiting !== undefined) return [installingCondition(`${progress}: ${waiting}`)];
  const before = conditionOf(current, "InstallSucceeded");
  const remarks = installRemarks(outcome);
  const succeeded: Entry = {
    ...trueCondition("InstallSucceeded"),
    ...(remarks.length === 0 ? {} : { message: remarks.join("; ") }),
  };
  if (isComplete(outcome)) {
    const dependencies = conditionOf(current, "DependenciesInstalled");
    return [
      succeeded,
      ...(dependencies?.status === "Unknown" ? [trueCondition("DependenciesInstalled")] : []),
    ];
  }
  // As in upstream, the install succeeds when all Deployments are available. Until then, an earlier failure is replaced by the progress.
  const isInstalled = before?.status === "True";
  if (isInstalled) return [succeeded];
  return [installingCondition([progress, ...remarks].join("; "))];
}

function progressAfter({
  applied,
  unchanged,
  parked,
  failed,
}: Extract<Outcome, { kind: "applied" }>["changes"]): Progress {
  const done = applied.length + unchanged;
  const total = done + parked.length + failed.length;
  const waiting = waitingFor(parked.map(({ message }) => ({ message, count: 1 })));
  return { done, total, waiting, failed: failed.length };
}

/** The conditions while a cluster is busy. The work goes on later. */
function pausedConditions({ message }: FleetError, work: Work, cluster: string): readonly Entry[] {
  if (work === "Install") return [installingCondition(message)];
  const entries = removalConditions(removalMessage(cluster, undefined));
  return entries.map((entry) =>
    entry.type === "InstallSucceeded" ? { ...entry, message } : entry,
  );
}

/** The conditions of a failure. Without an answer of the cluster, the states of cluster and Deployments are Unknown, and the result of the last install stays. */
function failureConditions(error: FleetError, work: Work): readonly Entry[] {
  const { reason, message } = error;
  if (reason !== "SpokeUnreachable") return [failureCondition(error, work)];
  const types = ["DeploymentsAvailable", "TargetClusterResolved"] as const;
  return types.map((type) => ({ type, status: "Unknown", reason, message }));
}

function failureCondition(error: FleetError, work: Work): Entry {
  const { condition: type } = reasons[error.reason];
  if (type === "VersionMigrationEligible") {
    const message = `Version migration is not eligible with message: ${error.message}`;
    return { type, status: "False", reason: "Error", message };
  }
  if (upstreamErrors.includes(error.reason)) return errorCondition(work, error.message);
  return { type, status: "False", reason: error.reason, message: error.message };
}

/** Begins the message of a failure. */
type Work = "Install" | "Removal";

function errorCondition(work: Work, text: string): Entry {
  const message = `${work} failed with message: ${text}`;
  return { type: "InstallSucceeded", status: "False", reason: "Error", message };
}

function installingCondition(message: string): Entry {
  return { type: "InstallSucceeded", status: "Unknown", reason: "Installing", message };
}

function trueCondition(type: ConditionType): Entry {
  return { type, status: "True" };
}

/** What the set of a component looks for in its status: the content, once all its objects are applied, and what a pulled cluster answers. A content that a user edited counts from the first attempt. */
function setFields(
  { annotations: before = {} }: ComponentStatus,
  outcome: Outcome,
): Pick<ComponentStatus, "annotations"> {
  if (outcome.kind !== "applied" && outcome.kind !== "reported") return {};
  const { content } = outcome;
  const isWhole = outcome.kind === "reported" || isAccepted(outcome.changes);
  const isInstalled = content !== undefined && (isWhole || content === editedContent);
  const annotations = {
    ...(outcome.kind === "reported" ? withAnswer(before, outcome.answer) : before),
    ...(isInstalled && { [setAnnotations.content]: content }),
  };
  return Object.keys(annotations).length === 0 ? {} : { annotations };
}

function withAnswer(
  annotations: NonNullable<ComponentStatus["annotations"]>,
  answer: string | undefined,
): NonNullable<ComponentStatus["annotations"]> {
  const { [setAnnotations.answer]: _, ...others } = annotations;
  return answer === undefined ? others : { ...others, [setAnnotations.answer]: answer };
}

function isAccepted({ failed, parked }: Extract<Outcome, { kind: "applied" }>["changes"]): boolean {
  return failed.length + parked.length === 0;
}

function installedFields(outcome: Outcome): Pick<ComponentStatus, "version" | "manifests"> {
  if (outcome.kind === "reported") {
    return outcome.version === undefined ? {} : { version: outcome.version };
  }
  if (outcome.kind !== "applied") return {};
  if (!isAccepted(outcome.changes)) return {};
  const manifests = { manifests: outcome.paths };
  return isComplete(outcome) ? { ...manifests, version: outcome.version } : manifests;
}
