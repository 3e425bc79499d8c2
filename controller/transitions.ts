import type { ComponentStatus } from "../api/component.ts";
import type { Condition } from "../api/kubernetes.ts";
import type { Outcome } from "./outcome.ts";

/** One thing worth an Event on a component. */
export interface Happening {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
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
  const failures = (after?.conditions ?? []).flatMap((condition): Happening[] =>
    isNewFailure(conditionOf(before, condition.type), condition)
      ? [warningOf(condition, outcome)]
      : [],
  );
  return [...installedOf(before, after), ...failures, ...readinessOf(before, after)];
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
  if (isLoss(after)) return !isLoss(before) && after.type === "TargetClusterResolved";
  if (after.status !== "False" || after.type === "Ready") return false;
  // While a component starts its Deployments are not available; that becomes news when they were before.
  if (after.type === "DeploymentsAvailable") return before?.status === "True";
  return (
    before?.status !== "False" || before.reason !== after.reason || before.message !== after.message
  );
}

function isLoss(condition: Condition | undefined): boolean {
  return condition?.reason === "SpokeUnreachable";
}

function warningOf({ type, reason = type, message = "" }: Condition, outcome: Outcome): Happening {
  if (outcome.kind === "failed") return { type: "Warning", reason: outcome.error.reason, message };
  // Upstream's reason for refused objects says nothing; the catalogue has a better one.
  return { type: "Warning", reason: reason === "Error" ? "ApplyFailed" : reason, message };
}

function conditionOf(status: ComponentStatus | undefined, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
