import type { Component, ComponentStatus } from "../../api/component.ts";
import { conditionOf, readyOf, withCondition } from "../../api/conditions.ts";
import type { FleetError } from "../../api/errors.ts";
import type { Condition } from "../../api/kubernetes.ts";
import {
  type ConditionType,
  conditionTypes,
  contestedCondition,
  protectedCondition,
  type Reason,
  reasons,
} from "../../api/reasons.ts";
import { type Progress, waitingFor } from "../apply/change-set.ts";
import { conflictMessage } from "../apply/filters/conflicts.ts";
import { clusterNameOf } from "../component-identity.ts";
import { protectionCondition } from "../guard/protection.ts";
import { retractedStatus } from "./doubt.ts";
import { isForNow, isComplete, type Steps, type Outcome } from "./outcome.ts";
import {
  beginningOf,
  isUnderway,
  progressMessage,
  removalMessage,
  troublesMessage,
  waitingMessage,
  failedJobsMessage,
} from "./progress.ts";

/** Failures that upstream reports with the reason `Error`. Upstream has no reason for the others. */
const upstreamErrors: readonly Reason[] = ["ApplyFailed", "ManifestInvalid", "ReleaseNotFound"];

/**
 * The status for an outcome. Equal input gives a byte-equal status. Conditions that the outcome does not concern stay as they are. Spec: knative-operator.md 4.5.
 */
export function statusOf(component: Component, outcome: Outcome, now: Date): ComponentStatus {
  const { status = {}, metadata } = component;
  if (outcome.kind === "seen") return retractedStatus(status, outcome.doubt, now);
  if (saysNothingNew(status, outcome)) return status;
  let conditions = initialConditions(status.conditions ?? [], now);
  for (const entry of conditionsOf(conditions, outcome, component)) {
    conditions = withCondition(conditions, entry, now);
  }
  if (outcome.kind === "applied") conditions = withConflict(conditions, outcome, now);
  conditions = withProtection(conditions, outcome, now);
  conditions = withCondition(conditions, { type: "Ready", ...readyOf(conditions) }, now);
  const { generation } = metadata;
  return {
    ...status,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    conditions,
    ...factsOf(outcome),
  };
}

/**
 * An attempt that ended before it sent anything leaves the status as it is: with this generation observed, the success of an older generation would look like the
 * success of this one. A component that was never installed has no such success, and tells that its cluster answers.
 */
function saysNothingNew(status: ComponentStatus, outcome: Outcome): boolean {
  const { conditions = [], version } = status;
  if (outcome.kind !== "working" || outcome.progress !== undefined) return false;
  if (conditions.length === 0) return false;
  const installed = conditionOf(conditions, "InstallSucceeded");
  const isFirst = version === undefined && installed?.status === "Unknown";
  return !(isFirst && outcome.steps.resolved);
}

/** Conflicts have a condition of their own, which `Ready` does not depend on, and which is removed when they are over. */
function withConflict(
  conditions: readonly Condition[],
  { changes: { conflicts = [] }, unsureMs = 0 }: Extract<Outcome, { kind: "applied" }>,
  now: Date,
): readonly Condition[] {
  const others = conditions.filter(({ type }) => type !== contestedCondition);
  const isTold = others.length < conditions.length;
  if (isTold && unsureMs > 0) return conditions;
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
  if (outcome.kind === "applied") return appliedOf(current, outcome);
  const steps = stepsOf(outcome.steps);
  if (outcome.kind === "failed") {
    const isGoing = component.metadata.deletionTimestamp !== undefined;
    const { obstacle } = outcome.steps;
    const errors = [outcome.error, ...(obstacle === undefined ? [] : [obstacle])];
    const work = isGoing ? "Removal" : "Install";
    const failures = errors.flatMap((error) =>
      isForNow(error) ? pausedOf(error, work, cluster) : failuresOf(error, work),
    );
    const seen = outcome.steps.resolved
      ? seenAgain(current, cluster)
      : permittedAgain(current, cluster);
    // A condition that is set twice would get a new transition time with every attempt.
    const others = [...steps, ...seen].filter(({ type }) =>
      failures.every((failure) => failure.type !== type),
    );
    return [...others, ...failures];
  }
  if (outcome.kind === "removing") {
    return [...steps, ...removalOf(removalMessage(cluster, outcome.remaining))];
  }
  return [...beginning(current, cluster), ...steps, ...progressOf(outcome.progress)];
}

function stepsOf({ eligible, resolved }: Steps): readonly Entry[] {
  return [
    ...(eligible ? [isTrue("VersionMigrationEligible")] : []),
    ...(resolved ? [isTrue("TargetClusterResolved")] : []),
  ];
}

/** A cluster that answers again: the state of its Deployments is not known yet. */
function seenAgain(current: readonly Condition[], cluster: string): readonly Entry[] {
  const type = "DeploymentsAvailable";
  const was = conditionOf(current, type);
  if (was?.reason !== "SpokeUnreachable") return [];
  return [{ type, status: "Unknown", ...beginningOf(cluster)[type] }];
}

/** Permission is checked first, so any other failure means that the component may use its cluster. */
function permittedAgain(current: readonly Condition[], cluster: string): readonly Entry[] {
  const type = "TargetClusterResolved";
  const was = conditionOf(current, type);
  if (was?.reason !== "ReferenceNotPermitted") return [];
  return [{ type, status: "Unknown", ...beginningOf(cluster)[type] }];
}

function progressOf(progress: Progress | undefined): readonly Entry[] {
  if (progress === undefined) return [];
  return [installing(progressMessage(progress))];
}

/** Messages for conditions that are still Unknown. A failure stays until its condition has a new result. */
function beginning(current: readonly Condition[], cluster: string): readonly Entry[] {
  const words = beginningOf(cluster);
  const open = conditionTypes.filter((type) =>
    current.some((condition) => condition.type === type && isUnderway(condition)),
  );
  return open.map((type) => ({ type, status: "Unknown", ...words[type] }));
}

/** The removal replaces the state of the Deployments, which are being deleted on purpose. */
function removalOf(message: string): readonly Entry[] {
  const types = ["DeploymentsAvailable", "InstallSucceeded"] as const;
  return types.map((type) => ({ type, status: "Unknown", reason: "Finalizing", message }));
}

function appliedOf(
  current: readonly Condition[],
  outcome: Extract<Outcome, { kind: "applied" }>,
): readonly Entry[] {
  const steps = stepsOf({ eligible: true, resolved: true });
  return [...steps, availabilityOf(outcome.readiness), ...installOf(current, outcome)];
}

function availabilityOf({
  available,
  message,
  unseen,
}: Extract<Outcome, { kind: "applied" }>["readiness"]): Entry {
  const type = "DeploymentsAvailable";
  if (!available) return { type, status: "False", reason: "NotReady", message };
  if (unseen === undefined) return isTrue(type);
  return { type, status: "Unknown", reason: "NotWatched", message: unseen };
}

function installOf(
  current: readonly Condition[],
  outcome: Extract<Outcome, { kind: "applied" }>,
): readonly Entry[] {
  const { failed } = outcome.changes;
  if (failed.length > 0) return [failedAt("Install", troublesMessage(failed))];
  const progress = progressMessage(progressAfter(outcome.changes));
  const waiting = waitingMessage(outcome.changes);
  if (waiting !== undefined) return [installing(`${progress}: ${waiting}`)];
  const before = conditionOf(current, "InstallSucceeded");
  const failure = failedJobsMessage(outcome.failedJobs);
  const succeeded: Entry = {
    ...isTrue("InstallSucceeded"),
    ...(failure === undefined ? {} : { message: failure }),
  };
  if (isComplete(outcome)) {
    const dependencies = conditionOf(current, "DependenciesInstalled");
    return [
      succeeded,
      ...(dependencies?.status === "Unknown" ? [isTrue("DependenciesInstalled")] : []),
    ];
  }
  // As upstream does, success is reported when all Deployments are available. A failure that is over is not repeated until then.
  const isInstalled = before?.status === "True";
  if (isInstalled) return [succeeded];
  return [installing(failure === undefined ? progress : `${progress}; ${failure}`)];
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

/** Nothing failed for good: the work goes on when the cluster answers again. */
function pausedOf({ message }: FleetError, work: Work, cluster: string): readonly Entry[] {
  if (work === "Install") return [installing(message)];
  const entries = removalOf(removalMessage(cluster, undefined));
  return entries.map((entry) =>
    entry.type === "InstallSucceeded" ? { ...entry, message } : entry,
  );
}

/** Without an answer of the cluster, the state of cluster and Deployments is Unknown. The result of the last install stays. */
function failuresOf(error: FleetError, work: Work): readonly Entry[] {
  const { reason, message } = error;
  if (reason !== "SpokeUnreachable") return [failureOf(error, work)];
  const types = ["DeploymentsAvailable", "TargetClusterResolved"] as const;
  return types.map((type) => ({ type, status: "Unknown", reason, message }));
}

function failureOf(error: FleetError, work: Work): Entry {
  const { condition: type } = reasons[error.reason];
  if (type === "VersionMigrationEligible") {
    const message = `Version migration is not eligible with message: ${error.message}`;
    return { type, status: "False", reason: "Error", message };
  }
  if (upstreamErrors.includes(error.reason)) return failedAt(work, error.message);
  return { type, status: "False", reason: error.reason, message: error.message };
}

/** What is to be done to an installation. */
type Work = "Install" | "Removal";

function failedAt(work: Work, text: string): Entry {
  const message = `${work} failed with message: ${text}`;
  return { type: "InstallSucceeded", status: "False", reason: "Error", message };
}

function installing(message: string): Entry {
  return { type: "InstallSucceeded", status: "Unknown", reason: "Installing", message };
}

function isTrue(type: ConditionType): Entry {
  return { type, status: "True" };
}

function factsOf(outcome: Outcome): Pick<ComponentStatus, "version" | "manifests"> {
  if (outcome.kind !== "applied") return {};
  const { failed, parked } = outcome.changes;
  if (failed.length + parked.length > 0) return {};
  const manifests = { manifests: outcome.paths };
  return isComplete(outcome) ? { ...manifests, version: outcome.version } : manifests;
}
