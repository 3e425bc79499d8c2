import { byText } from "./fields.ts";
import type { Condition } from "./kubernetes.ts";
import type { ConditionType } from "./reasons.ts";

/** The condition of a type; undefined when the list lacks it or is missing. */
export function conditionOf(
  conditions: readonly Condition[] | null | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * The list with one condition replaced or added, sorted by type. `lastTransitionTime` changes only with status, reason
 * or message, so that equal input gives a byte-equal list.
 */
export function withCondition(
  conditions: readonly Condition[],
  next: Omit<Condition, "lastTransitionTime">,
  now: Date,
): readonly Condition[] {
  const current = conditionOf(conditions, next.type);
  const same =
    current?.lastTransitionTime !== undefined &&
    current.status === next.status &&
    (current.reason ?? "") === (next.reason ?? "") &&
    (current.message ?? "") === (next.message ?? "");
  const entry: Condition = same
    ? { ...next, lastTransitionTime: current.lastTransitionTime }
    : { ...next, lastTransitionTime: timestampOf(now) };
  return [...conditions.filter((condition) => condition.type !== next.type), entry].toSorted(
    byText(({ type }) => type),
  );
}

/** The dependent conditions in the order of an install. */
const installOrder = [
  "TargetClusterResolved",
  "VersionMigrationEligible",
  "InstallSucceeded",
  "DeploymentsAvailable",
  "DependenciesInstalled",
] as const satisfies readonly ConditionType[];

/**
 * `Ready` of a component. False if a dependent condition is False; the one with the newest transition gives reason and message. Else Unknown if
 * one is Unknown or missing; the first one with a reason, in the order of an install, gives them. Else True. Spec: knative-operator.md 4.5.
 */
export function readyOf(
  conditions: readonly Condition[],
): Pick<Condition, "status" | "reason" | "message"> {
  const dependents = installOrder.map(
    (type: ConditionType): Condition =>
      conditionOf(conditions, type) ?? { type, status: "Unknown" },
  );
  const failing = dependents
    .filter(({ status }) => status === "False")
    .toSorted((a, b) => ((a.lastTransitionTime ?? "") < (b.lastTransitionTime ?? "") ? 1 : -1))[0];
  const unknown = dependents.filter(({ status }) => status === "Unknown");
  const blocking = failing ?? unknown.find(({ reason }) => reason !== undefined) ?? unknown[0];
  if (blocking === undefined) return { status: "True" };
  const { status, reason, message } = blocking;
  return {
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

/** A time as Kubernetes writes it: RFC 3339, UTC, whole seconds. */
export function timestampOf(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
