import type { ComponentStatus } from "../api/component.ts";
import { type Condition, describe, type ObjectKey } from "../api/kubernetes.ts";
import { contestedCondition, protectedCondition } from "../api/reasons.ts";
import type { Unblocked } from "./apply/unblock.ts";
import { failedJobsMessage, type Outcome } from "./outcome.ts";

/** One thing worth an Event on a component. */
export interface Happening {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Of the Event, for what is too long for a message. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * What changed between two statuses, for the people who look at a component's Events: a version was installed, it became
 * ready, a condition turned False. Nothing for two equal statuses.
 */
export function happeningsOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  outcome: Outcome,
): readonly Happening[] {
  const failures = (after?.conditions ?? []).filter((condition) =>
    condition.type === "DeploymentsAvailable"
      ? isNewlyUnavailable(before, after, outcome)
      : isNewFailure(conditionOf(before, condition.type), condition),
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
): readonly Happening[] {
  const [was, is] = [before, after].map((status) => conditionOf(status, contestedCondition));
  if (was === undefined || is !== undefined) return [];
  const message = "Nobody has changed the contested objects for a minute";
  return [{ type: "Normal", reason: "ContestOver", message }];
}

const maxNamed = 3;

/** What is worth an Event of objects that somebody else had deleted or changed; undefined: nothing. */
export function repairsOf({
  repaired,
}: {
  readonly repaired: readonly ObjectKey[];
}): Happening | undefined {
  if (repaired.length === 0) return undefined;
  const names = repaired.map(describe).toSorted();
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : "";
  const named = names.slice(0, maxNamed).join(", ");
  const message = `Put right what was deleted or changed: ${named}${more}`;
  return { type: "Normal", reason: "Repaired", message };
}

/** What is worth an Event of Jobs that failed; `news` has a sentence for each of which nobody was told yet. Undefined: nothing. */
export function jobsFailed(news: readonly string[]): Happening | undefined {
  const message = failedJobsMessage(news);
  return message === undefined ? undefined : { type: "Warning", reason: "JobFailed", message };
}

/** The anchor of an installation is gone, and with it what it owned. */
export function anchorLost(cluster: string): Happening {
  const message = `The anchor of this installation is gone from ${cluster}; everything is installed again`;
  return { type: "Warning", reason: "AnchorLost", message };
}

/** The rules of a webhook were emptied; see apply/unblock.ts. */
export function webhookUnblocked({ webhook, configuration }: Unblocked): Happening {
  const message = `Emptied the rules of ${configuration}: for minutes nobody answered for ${webhook}, without which the cluster refuses ConfigMaps that its pods need; they fill them again`;
  return { type: "Warning", reason: "WebhookUnblocked", message };
}

/** What upstream's operator had installed is managed from here now; see apply/adopt.ts. */
export function adopted(count: number, cluster: string): Happening {
  const message = `Took over ${count} objects that the upstream operator installed on ${cluster}`;
  return { type: "Normal", reason: "Adopted", message };
}

/** Work that begins is told once, not with every step of it. */
function beginningsOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  outcome: Outcome,
): readonly Happening[] {
  const is = conditionOf(after, "InstallSucceeded");
  if (is?.status !== "Unknown" || wentOn(before, is)) return [];
  const { reason = "", message = "" } = is;
  // Without the number of objects, which changes.
  const words = message.split(": ", 1)[0] ?? message;
  if (outcome.kind === "removing") return [{ type: "Normal", reason, message: words }];
  if (outcome.kind !== "working") return [];
  return [{ type: "Normal", reason, message: beginningMessage(before?.version, outcome.version) }];
}

/** Whether the same work was going on before. A removal says it in a second condition still when an attempt at it failed. */
function wentOn(before: ComponentStatus | undefined, { reason }: Condition): boolean {
  const was = conditionOf(before, "InstallSucceeded");
  if (was?.status === "Unknown" && was.reason === reason) return true;
  return reason === "Finalizing" && conditionOf(before, "DeploymentsAvailable")?.reason === reason;
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
): readonly Happening[] {
  return Object.entries(recoveries).flatMap(([type, message]): Happening[] => {
    const was = conditionOf(before, type);
    const failed = was?.status === "False" || isLoss(was) || isUnguarded(was);
    const isOver = failed && conditionOf(after, type)?.status === "True";
    return isOver ? [{ type: "Normal", reason: "Recovered", message }] : [];
  });
}

function installedOf(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
): readonly Happening[] {
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
): readonly Happening[] {
  const isReady = conditionOf(after, "Ready")?.status === "True";
  if (!isReady || conditionOf(before, "Ready")?.status === "True") return [];
  return [{ type: "Normal", reason: "Ready", message: "All Deployments are available" }];
}

function isNewFailure(before: Condition | undefined, after: Condition): boolean {
  return isNewTrouble(before, after) ?? isNewlyFalse(before, after);
}

/** Undefined for a condition of which only False is trouble. */
function isNewTrouble(before: Condition | undefined, after: Condition): boolean | undefined {
  if (after.type === contestedCondition) return before?.message !== after.message;
  if (isUnguarded(after)) return !isUnguarded(before);
  if (isLoss(after)) return !isLoss(before) && after.type === "TargetClusterResolved";
  return undefined;
}

function isNewlyFalse(before: Condition | undefined, after: Condition): boolean {
  if (after.status !== "False" || after.type === "Ready") return false;
  return (
    before?.status !== "False" || before.reason !== after.reason || before.message !== after.message
  );
}

/** Deployments are down, or it became known why they do not come up. */
function isNewlyUnavailable(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  outcome: Outcome,
): boolean {
  const [was, is] = [before, after].map((status) => conditionOf(status, "DeploymentsAvailable"));
  if (outcome.kind !== "applied" || is?.status !== "False") return false;
  const { stuck = [] } = outcome.readiness;
  const isKnown = stuck.some((text) => was?.message?.includes(text));
  if (stuck.length > 0 && !isKnown) return true;
  return was?.status !== "False" && !isRollout(before, after, outcome.version);
}

/** A change of ours is on its way: Deployments are not available for a while then, which is no news. */
function isRollout(
  before: ComponentStatus | undefined,
  after: ComponentStatus | undefined,
  version: string,
): boolean {
  if (before?.version !== version) return true;
  if (before.observedGeneration !== after?.observedGeneration) return true;
  return conditionOf(before, "InstallSucceeded")?.status === "Unknown";
}

function isLoss(condition: Condition | undefined): boolean {
  return condition?.reason === "SpokeUnreachable";
}

/** The status is Unknown then: nobody says that the anchor can be deleted, only that nothing was seen to keep anybody from it. */
function isUnguarded(condition: Condition | undefined): boolean {
  return condition?.type === protectedCondition && condition.reason === "NotEnforced";
}

function warningOf({ type, reason = type, message = "" }: Condition, outcome: Outcome): Happening {
  if (reason !== "Error") return { type: "Warning", reason, message };
  // Upstream's reason for what failed says nothing; the catalogue has a better one.
  const better = outcome.kind === "failed" ? outcome.error.reason : "ApplyFailed";
  return { type: "Warning", reason: better, message };
}

function conditionOf(status: ComponentStatus | undefined, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
