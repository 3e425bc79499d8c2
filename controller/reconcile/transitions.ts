import type { ComponentStatus } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { contestedCondition, protectedCondition } from "../../api/reasons.ts";
import type { ComponentEvent } from "../events.ts";
import { initialProtection } from "../guard/protection.ts";
import { isForNow, type Outcome } from "./outcome.ts";
import { waitingMessage } from "./progress.ts";

/**
 * What changed between two statuses, for the people who look at a component's Events: a version was installed, it became
 * ready, a condition turned False, it waits for its cluster. Nothing for two equal statuses.
 */
export function transitionEvents(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  outcome: Outcome,
): readonly ComponentEvent[] {
  const failures = (after?.conditions ?? []).filter((condition) =>
    condition.type === "DeploymentsAvailable"
      ? isNewlyUnseen(before, condition) || isNewlyUnavailable(before, after, outcome)
      : isNewFailure(conditionIn(before, condition.type), condition),
  );
  return [
    ...beginningsOf(before, after, outcome),
    ...installedOf(before, after),
    ...recoveriesOf(before, after),
    ...failures.map((condition) => warningOf(condition, outcome)),
    ...peaceOf(before, after),
    ...readinessOf(before, after),
  ];
}

function peaceOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
): readonly ComponentEvent[] {
  const [was, is] = [before, after].map((status) => conditionIn(status, contestedCondition));
  if (was === undefined || is !== undefined) return [];
  const message = "Nobody has changed the contested objects for a minute";
  return [{ type: "Normal", reason: "ContestOver", message }];
}

/** The beginning of work has one Event, and its progress none. */
function beginningsOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  outcome: Outcome,
): readonly ComponentEvent[] {
  if (outcome.kind === "failed") return isForNow(outcome.error) ? pausesOf(before, after) : [];
  if (outcome.kind === "applied") return turnsOf(before, after, outcome);
  if (outcome.kind === "seen") return [];
  const is = conditionIn(after, "InstallSucceeded");
  if (is?.status !== "Unknown" || wentOn(before, is)) return [];
  if (outcome.kind === "working") return [beginningOf(before, outcome.version)];
  const { reason = "", message = "" } = is;
  // Without the number of objects, which changes.
  return [{ type: "Normal", reason, message: message.split(": ", 1)[0] ?? message }];
}

/** Work that waits for a busy cluster. One Event, and none when the same work had one before. */
function pausesOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
): readonly ComponentEvent[] {
  const is = conditionIn(after, "InstallSucceeded");
  if (is === undefined || wentOn(before, is)) return [];
  const { reason = "", message = "" } = is;
  return [{ type: "Warning", reason: reason === "Installing" ? "Waiting" : reason, message }];
}

/**
 * What an apply turned that did not make the component ready: it was over before anybody was told that it began, an installation that was complete
 * waits for its cluster, or what kept the objects from being applied is over. An installation that was not complete yet says in its condition alone what it waits for.
 */
function turnsOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  outcome: Extract<Outcome, { kind: "applied" }>,
): readonly ComponentEvent[] {
  const [was, is] = [before, after].map((status) => conditionIn(status, "InstallSucceeded"));
  if (is === undefined || is.status === "False" || isInstalling(was) || isReady(after)) return [];
  if (isBegun(before, after, outcome.version)) return [beginningOf(before, outcome.version)];
  if (is.status !== "Unknown") return [];
  const message = waitingMessage(outcome.changes);
  return message === undefined
    ? [{ type: "Normal", reason: "Recovered", message: "The objects are applied now" }]
    : [{ type: "Warning", reason: "Waiting", message }];
}

/** Whether the apply was for a new version or specification, and not a retry, so that its beginning had no Event. */
function isBegun(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  version: string,
): boolean {
  if (before?.observedGeneration !== after?.observedGeneration) return true;
  const was = conditionIn(before, "InstallSucceeded")?.status ?? "Unknown";
  return was === "Unknown" || (before?.version !== version && isReady(before));
}

/** Whether the same work was running before. After a failed attempt at a removal, only the second condition still says so. */
function wentOn(before: ComponentStatus | undefined, { reason }: Condition): boolean {
  const was = conditionIn(before, "InstallSucceeded");
  if (was?.status === "Unknown" && was.reason === reason) return true;
  return reason === "Finalizing" && conditionIn(before, "DeploymentsAvailable")?.reason === reason;
}

function isInstalling(condition: Condition | undefined): boolean {
  return condition?.status === "Unknown" && condition.reason === "Installing";
}

function beginningOf(
  before: ComponentStatus | undefined,
  version: string | undefined,
): ComponentEvent {
  const message = beginningMessage(before?.version, version);
  return { type: "Normal", reason: "Installing", message };
}

function beginningMessage(previous: string | undefined, version: string | undefined): string {
  if (previous === undefined) return "Began to install";
  return version === undefined || previous === version
    ? "Began to apply the changed specification"
    : `Began to change version ${previous} to ${version}`;
}

const recoveries: Readonly<Record<string, string>> = {
  TargetClusterResolved: "The target cluster is reached again",
  VersionMigrationEligible: "The version may be installed now",
  [protectedCondition]: "The API server refuses to delete the anchor again",
};

function recoveriesOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
): readonly ComponentEvent[] {
  return Object.entries(recoveries).flatMap(([type, message]): ComponentEvent[] => {
    const [was, is] = [before, after].map((status) => conditionIn(status, type));
    const failed = was?.status === "False" || isLoss(was) || isUnguarded(was);
    if (!failed || is === undefined) return [];
    if (is.status === "True") return [{ type: "Normal", reason: "Recovered", message }];
    // Nobody has tried to reach it yet.
    const mayBeUsed = is.status === "Unknown" && is.reason === "Connecting";
    const words = "The target cluster may be used again";
    return mayBeUsed ? [{ type: "Normal", reason: "Recovered", message: words }] : [];
  });
}

function installedOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
): readonly ComponentEvent[] {
  const version = after?.version;
  if (version === undefined || version === before?.version) return [];
  const previous = before?.version;
  const message =
    previous === undefined
      ? `Installed version ${version}`
      : `Changed version ${previous} to ${version}`;
  return [{ type: "Normal", reason: "Installed", message }];
}

function readinessOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
): readonly ComponentEvent[] {
  if (!isReady(after) || isReady(before)) return [];
  return [{ type: "Normal", reason: "Ready", message: "All Deployments are available" }];
}

function isReady(status: ComponentStatus | undefined): boolean {
  return conditionIn(status, "Ready")?.status === "True";
}

function isNewFailure(before: Condition | undefined, after: Condition): boolean {
  return isNewTrouble(before, after) ?? isNewlyFalse(before, after);
}

/** Undefined for a condition that is a problem only when it is False. */
function isNewTrouble(before: Condition | undefined, after: Condition): boolean | undefined {
  if (after.type === contestedCondition) return before?.message !== after.message;
  if (isUnguarded(after)) return isNewlyUnguarded(before, after);
  if (isLoss(after)) return !isLoss(before) && after.type === "TargetClusterResolved";
  return undefined;
}

function isNewlyFalse(before: Condition | undefined, after: Condition): boolean {
  if (after.status !== "False" || after.type === "Ready") return false;
  return (
    before?.status !== "False" || before.reason !== after.reason || before.message !== after.message
  );
}

/** The right to watch the Deployments was lost. */
function isNewlyUnseen(before: ComponentStatus | undefined, { type, reason }: Condition): boolean {
  return reason === "NotWatched" && conditionIn(before, type)?.reason !== reason;
}

/** Deployments became unavailable, or the cause became known. */
function isNewlyUnavailable(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  outcome: Outcome,
): boolean {
  const [was, is] = [before, after].map((status) => conditionIn(status, "DeploymentsAvailable"));
  if (is?.status !== "False") return false;
  const isTurn = was?.status !== "False";
  if (outcome.kind === "seen") return isTurn;
  if (outcome.kind !== "applied") return false;
  const { stuck = [] } = outcome.readiness;
  const isKnown = stuck.some((text) => was?.message?.includes(text));
  if (stuck.length > 0 && !isKnown) return true;
  return isTurn && !isRollout(before, after, outcome.version);
}

/** Our own change is being rolled out: Deployments are unavailable for a while, without an Event. */
function isRollout(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  version: string,
): boolean {
  if (before?.version !== version) return true;
  if (before.observedGeneration !== after?.observedGeneration) return true;
  return conditionIn(before, "InstallSucceeded")?.status === "Unknown";
}

function isLoss(condition: Condition | undefined): boolean {
  return condition?.reason === "SpokeUnreachable";
}

/** The protection of the anchor is not proven. The status is Unknown: the anchor may still be protected. */
function isUnguarded(condition: Condition | undefined): boolean {
  if (condition?.type !== protectedCondition || condition.status !== "Unknown") return false;
  return condition.message !== initialProtection.message;
}

/** A new proof after a loss has no Event. */
function isNewlyUnguarded(before: Condition | undefined, { reason }: Condition): boolean {
  if (reason === "NotEnforced") return before?.reason !== reason;
  return !isUnguarded(before) && before?.reason !== "BindingMissing";
}

function warningOf(
  { type, reason = type, message = "" }: Condition,
  outcome: Outcome,
): ComponentEvent {
  if (reason !== "Error") return { type: "Warning", reason, message };
  // Upstream's reason for what failed says nothing; the catalogue has a better one.
  const better = outcome.kind === "failed" ? outcome.error.reason : "ApplyFailed";
  return { type: "Warning", reason: better, message };
}

function conditionIn(status: ComponentStatus | undefined, type: string): Condition | undefined {
  return conditionOf(status?.conditions, type);
}
