import type { Component, ComponentStatus } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import { nameId } from "../../api/keys.ts";
import { describe, nameFirst, type ObjectKey } from "../../api/kubernetes.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { ownReasonOf } from "../../api/own-reason.ts";
import {
  contestedCondition,
  protectedCondition,
  rollingOut,
  scaledToZero,
} from "../../api/reasons.ts";
import type { Unblocked } from "../apply/unblock.ts";
import type { NewEvent } from "../events.ts";
import { initialProtection } from "../guard/protection.ts";
import { isForNow, type Outcome } from "./outcome.ts";
import { failedJobsMessage, waitingMessage } from "./progress.ts";
import type { ToldEvents } from "./told-events.ts";

/** A status before and after a write. Both are one object when there was nothing to write. */
export interface StatusChange {
  readonly before: ComponentStatus | undefined;
  readonly after: ComponentStatus | undefined;
}

/**
 * The Events of a change of the status: a version was installed, the component became ready, a condition became False, the component waits for its cluster. None for two equal
 * statuses.
 */
export function transitionEvents(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  outcome: Outcome,
): readonly NewEvent[] {
  const change = { before, after };
  const version = versionEvents(change);
  const failures = (after?.conditions ?? []).filter((condition) =>
    condition.type === "DeploymentsAvailable"
      ? isNewlyUnwatched(before, condition) || isNewlyUnavailable(change, outcome)
      : isNewFailure(conditionIn(before, condition.type), condition),
  );
  return [
    ...workEvents(change, outcome),
    ...version,
    ...recoveryEvents(change),
    ...failures.map((condition) => failureEvent(condition, outcome)),
    ...scaleEvents(change),
    ...conflictOverEvents(change),
    // A new version is available when its Event says so, and needs no second one.
    ...(version.length > 0 ? [] : readyEvents(change)),
  ];
}

/** Another writer scaled workloads to zero, or up again. */
function scaleEvents(change: StatusChange): readonly NewEvent[] {
  const [was, is] = conditionsIn(change, "DeploymentsAvailable");
  if (is?.status !== "True") return [];
  const { reason, message = "" } = is;
  if (reason === scaledToZero) {
    const isNews = was?.reason !== reason || was.message !== message;
    return isNews ? [{ type: "Warning", reason, message }] : [];
  }
  if (was?.reason !== scaledToZero) return [];
  return [{ type: "Normal", reason: "Recovered", message: "Nothing is scaled to zero now" }];
}

function conflictOverEvents(change: StatusChange): readonly NewEvent[] {
  const [was, is] = conditionsIn(change, contestedCondition);
  if (was === undefined || is !== undefined) return [];
  const message = "Nobody has changed the contested objects for a minute";
  return [{ type: "Normal", reason: "ContestOver", message }];
}

/** The beginning of work has one Event, and its progress none. */
function workEvents(change: StatusChange, outcome: Outcome): readonly NewEvent[] {
  const { before, after } = change;
  if (outcome.kind === "failed") return isForNow(outcome.error) ? pauseEvents(change) : [];
  if (outcome.kind === "applied") return applyEvents(change, outcome);
  if (isOfOthers(outcome)) return [];
  const is = conditionIn(after, "InstallSucceeded");
  if (is?.status !== "Unknown" || wasUnderway(before, is)) return [];
  if (outcome.kind === "working") return beginningEvents(before, outcome.version);
  const { reason = "", message = "" } = is;
  // Without the number of objects, which changes.
  return [{ type: "Normal", reason, message: message.split(": ", 1)[0] ?? message }];
}

/** Whether the outcome was read from the cluster, and is not the result of an attempt of this controller. */
function isOfOthers({ kind }: Outcome): boolean {
  return kind === "seen" || kind === "reported";
}

/** Work that waits for a busy cluster. One Event, and none when the beginning of this work had one. */
function pauseEvents({ before, after }: StatusChange): readonly NewEvent[] {
  const is = conditionIn(after, "InstallSucceeded");
  if (is === undefined || wasUnderway(before, is)) return [];
  const { reason = "", message = "" } = is;
  return [{ type: "Warning", reason: reason === "Installing" ? "Waiting" : reason, message }];
}

/**
 * The Events of an apply after which the component is not ready yet: the apply ended before its beginning had an Event, a complete installation waits
 * for its cluster, or a failure to apply objects is over. While an installation was never complete, only its condition names the obstacle.
 */
function applyEvents(
  change: StatusChange,
  outcome: Extract<Outcome, { kind: "applied" }>,
): readonly NewEvent[] {
  const { before, after } = change;
  const [was, is] = conditionsIn(change, "InstallSucceeded");
  if (is === undefined || is.status === "False" || isInstalling(was) || isReady(after)) return [];
  if (isNewWork(change, outcome.version)) return beginningEvents(before, outcome.version);
  if (is.status !== "Unknown") return [];
  const message = waitingMessage(outcome.changes);
  return message === undefined
    ? [{ type: "Normal", reason: "Recovered", message: "The objects are applied now" }]
    : [{ type: "Warning", reason: "Waiting", message }];
}

/** Whether the apply was for a new version or specification, and not a retry, so that its beginning had no Event. */
function isNewWork({ before, after }: StatusChange, version: string): boolean {
  if (before?.observedGeneration !== after?.observedGeneration) return true;
  const was = conditionIn(before, "InstallSucceeded")?.status ?? "Unknown";
  return was === "Unknown" || (before?.version !== version && isReady(before));
}

/** Whether this work was running before. After a failed attempt at a removal, only the second condition shows it. */
function wasUnderway(before: ComponentStatus | undefined, { reason }: Condition): boolean {
  const was = conditionIn(before, "InstallSucceeded");
  if (was?.status === "Unknown" && was.reason === reason) return true;
  return reason === "Finalizing" && conditionIn(before, "DeploymentsAvailable")?.reason === reason;
}

function isInstalling(condition: Condition | undefined): boolean {
  return condition?.status === "Unknown" && condition.reason === "Installing";
}

/** A first installation begins when the component is made: nobody needs to be told, unless it failed before. */
function beginningEvents(
  before: ComponentStatus | undefined,
  version: string | undefined,
): readonly NewEvent[] {
  const isRetry = wasFalse(conditionIn(before, "InstallSucceeded"));
  if (before?.version === undefined && !isRetry) return [];
  const message = beginningMessage(before?.version, version);
  return [{ type: "Normal", reason: "Installing", message }];
}

function beginningMessage(previous: string | undefined, version: string | undefined): string {
  if (previous === undefined) return "Began to install again";
  return version === undefined || previous === version
    ? "Began to apply the changed specification"
    : `Began to change version ${previous} to ${version}`;
}

const recoveries: Readonly<Record<string, string>> = {
  TargetClusterResolved: "The target cluster is reached again",
  VersionMigrationEligible: "The version may be installed now",
  [protectedCondition]: "The API server refuses to delete the anchor again",
};

function recoveryEvents(change: StatusChange): readonly NewEvent[] {
  return Object.entries(recoveries).flatMap(([type, message]): NewEvent[] => {
    const [was, is] = conditionsIn(change, type);
    const failed = wasFalse(was) || isUnreachable(was) || isUnguarded(was);
    if (!failed || is === undefined) return [];
    if (is.status === "True") return [{ type: "Normal", reason: "Recovered", message }];
    // The component may use its cluster again, but did not try to reach it yet.
    const isPermitted = is.status === "Unknown" && is.reason === "Connecting";
    const permitted = "The target cluster may be used again";
    return isPermitted ? [{ type: "Normal", reason: "Recovered", message: permitted }] : [];
  });
}

function versionEvents({ before, after }: StatusChange): readonly NewEvent[] {
  const version = after?.version;
  const previous = before?.version;
  if (version === undefined || version === previous) return [];
  const message =
    previous === undefined
      ? `Installed version ${version}`
      : `Changed version ${previous} to ${version}`;
  return [{ type: "Normal", reason: "Installed", message }];
}

function readyEvents({ before, after }: StatusChange): readonly NewEvent[] {
  if (!isReady(after) || isReady(before)) return [];
  return [{ type: "Normal", reason: "Ready", message: "All Deployments are available" }];
}

function isReady(status: ComponentStatus | undefined): boolean {
  return conditionIn(status, "Ready")?.status === "True";
}

function isNewFailure(before: Condition | undefined, after: Condition): boolean {
  return isNewProblem(before, after) ?? isNewlyFalse(before, after);
}

/** Undefined for a condition that is a problem only when it is False. */
function isNewProblem(before: Condition | undefined, after: Condition): boolean | undefined {
  if (after.type === contestedCondition) return before?.message !== after.message;
  if (isUnproven(after)) return isUnguarded(after) && isNewlyUnguarded(before, after);
  if (isUnreachable(after)) return !isUnreachable(before) && after.type === "TargetClusterResolved";
  return undefined;
}

function isNewlyFalse(before: Condition | undefined, after: Condition): boolean {
  if (after.status !== "False" || after.type === "Ready") return false;
  return (
    before?.status !== "False" || before.reason !== after.reason || before.message !== after.message
  );
}

/** The right to watch the Deployments was lost. */
function isNewlyUnwatched(
  before: ComponentStatus | undefined,
  { type, reason }: Condition,
): boolean {
  return reason === "NotWatched" && conditionIn(before, type)?.reason !== reason;
}

/** Deployments became unavailable, or the cause became known. */
function isNewlyUnavailable(change: StatusChange, outcome: Outcome): boolean {
  const [was, is] = conditionsIn(change, "DeploymentsAvailable");
  if (is === undefined || isUpOrRolling(is)) return false;
  const wasAvailable = was === undefined || isUpOrRolling(was);
  if (isOfOthers(outcome)) {
    // During our own change, an unavailable workload is part of the rollout.
    return wasAvailable && !isInstalling(conditionIn(change.after, "InstallSucceeded"));
  }
  if (outcome.kind !== "applied") return false;
  if (isNewlyStuck(was?.message ?? "", outcome.readiness.stuck ?? [])) return true;
  return wasAvailable && !isRollout(change, outcome.version);
}

/** Whether workloads do not come up for a cause that was not told, or none of them was told. Another one of a known cause is no news: an exhausted quota stops all. */
function isNewlyStuck(told: string, stuck: readonly string[]): boolean {
  const isOfNewCause = stuck.some((text) => !told.includes(/\(.*$/.exec(text)?.[0] ?? text));
  return isOfNewCause || (stuck.length > 0 && !stuck.some((text) => told.includes(text)));
}

/** A rollout has no Event, so that its end without success has one. */
function isUpOrRolling({ status, reason }: Condition): boolean {
  return status !== "False" || reason === rollingOut;
}

/** Our own change is being rolled out: Deployments are unavailable for a while, without an Event. */
function isRollout({ before, after }: StatusChange, version: string): boolean {
  if (before?.version !== version) return true;
  if (before.observedGeneration !== after?.observedGeneration) return true;
  return conditionIn(before, "InstallSucceeded")?.status === "Unknown";
}

function isUnreachable(condition: Condition | undefined): boolean {
  return condition?.reason === "SpokeUnreachable";
}

/** The protection of the anchor is not proven. The anchor may still be protected. */
function isUnproven(condition: Condition | undefined): boolean {
  if (condition?.type !== protectedCondition) return false;
  return condition.reason === "Probing" || condition.reason === "NotEnforced";
}

/** The protection of the anchor is not proven, and this is not the first proof. */
function isUnguarded(condition: Condition | undefined): boolean {
  return isUnproven(condition) && condition?.message !== initialProtection.message;
}

/** A condition failed before. A protection that was not proven yet did not fail. */
function wasFalse(condition: Condition | undefined): boolean {
  return condition?.status === "False" && !isUnproven(condition);
}

/** Whether the protection is newly unproven. The new proof after a missing binding has no Event. */
function isNewlyUnguarded(before: Condition | undefined, { reason }: Condition): boolean {
  if (reason === "NotEnforced") return before?.reason !== reason;
  return !isUnguarded(before) && before?.reason !== "BindingMissing";
}

function failureEvent(condition: Condition, outcome: Outcome): NewEvent {
  const { type, reason = type, message = "" } = condition;
  if (reason !== "Error") return { type: "Warning", reason, message };
  // The condition has upstream's reason `Error`. The reason of the catalogue says more.
  const catalogued = outcome.kind === "failed" ? outcome.error.reason : cataloguedReason(condition);
  return { type: "Warning", reason: catalogued, message };
}

/** The reason of the catalogue behind `Error` in a condition that the spoke told, as far as its text says it. */
function cataloguedReason(condition: Condition): string {
  if (condition.type === "VersionMigrationEligible") return "VersionNotEligible";
  const reason = ownReasonOf(condition, [condition]);
  return reason === "Error" ? "ApplyFailed" : reason;
}

function conditionIn(status: ComponentStatus | undefined, type: string): Condition | undefined {
  return conditionOf(status?.conditions, type);
}

/** A condition before and after. */
function conditionsIn(
  { before, after }: StatusChange,
  type: string,
): readonly [Condition | undefined, Condition | undefined] {
  return [conditionIn(before, type), conditionIn(after, type)];
}

const maxNamed = 3;

/** The Event about repaired objects, which others had deleted or changed; undefined without any. */
export function repairEvent({
  repaired,
  renewed = [],
}: {
  readonly repaired: readonly ObjectKey[];
  readonly renewed?: readonly ObjectKey[];
}): NewEvent | undefined {
  if (repaired.length === 0) return undefined;
  const early =
    renewed.length === 0
      ? ""
      : `. With new content, which the set has not stamped yet: ${namesOf(renewed)}`;
  const message = `Put right what was deleted or changed: ${namesOf(repaired)}${early}`;
  return { type: "Normal", reason: "Repaired", message };
}

function namesOf(keys: readonly ObjectKey[]): string {
  return nameFirst(keys.map(describe).toSorted(), maxNamed);
}

/** The Event about failed Jobs; undefined without any. `news` has a sentence for each Job that had no Event yet. */
export function failedJobsEvent(news: readonly string[]): NewEvent | undefined {
  const message = failedJobsMessage(news);
  return message === undefined ? undefined : { type: "Warning", reason: "JobFailed", message };
}

/** The Event about an anchor that is gone with all objects that it owned. */
export function anchorLostEvent(cluster: string): NewEvent {
  const message = `The anchor of this installation is gone from ${cluster}; everything is installed again`;
  return { type: "Warning", reason: "AnchorLost", message };
}

/** The Event about a webhook whose rules were emptied; see apply/unblock.ts. */
export function webhookUnblockedEvent({ webhook, configuration }: Unblocked): NewEvent {
  const message = `Emptied the rules of ${configuration}: for minutes nobody answered for ${webhook}, without which the cluster refuses ConfigMaps that its pods need; they fill them again`;
  return { type: "Warning", reason: "WebhookUnblocked", message };
}

/** The Event about adopted objects of the upstream operator; see apply/adoption/adopt.ts. */
export function adoptedEvent(count: number, cluster: string): NewEvent {
  const message = `Took over ${count} objects that the upstream operator installed on ${cluster}`;
  return { type: "Normal", reason: "Adopted", message };
}

/** The Event about objects that another controller of knfleet managed for this component; see hand-over.ts. */
export function takenOverEvent(count: number, cluster: string): NewEvent {
  const message = `Took over ${count} objects on ${cluster} that another controller of knfleet installed for this component`;
  return { type: "Normal", reason: "TakenOver", message };
}

/** Finds the spokes that get one token; implemented by PathMetrics. */
export interface TokenSharers {
  /** `namespace/name` of the ClusterProfiles that have the token of this one, and another server. */
  sharers(spoke: string): readonly string[];
}

/**
 * The Event about a cluster that shares its credential with others. Undefined when the last Event named these clusters, too. It does not name the
 * other clusters, because readers of the component may not be allowed to know them; the log names them. Security: T-21.
 */
export function takeSharedCredentialEvent(
  component: Component,
  told: ToldEvents,
  tokens: TokenSharers,
): NewEvent | undefined {
  const ref = component.spec?.clusterProfileRef;
  if (ref === undefined) return undefined;
  const sharers = tokens.sharers(nameId(ref));
  if (!told.takeSharers(sharers)) return undefined;
  const many = sharers.length === 1 ? "another ClusterProfile" : `${sharers.length} others`;
  const message =
    `The token for ClusterProfile ${ref.namespace}/${ref.name} is also sent to the server of ${many}, ` +
    "and whoever runs one of them could use it at the others; the log names them";
  return { type: "Warning", reason: "SharedCredential", message };
}
