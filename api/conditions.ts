import type { Condition } from "./kubernetes.ts";
import type { ConditionType } from "./reasons.ts";

/** The condition of a type in a list; undefined when the list does not have it, or is missing. */
export function conditionOf(
  conditions: readonly Condition[] | null | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * The list with one condition set: sorted by type, one entry a type. `lastTransitionTime` moves only when status, reason
 * or message differ from what the list already says, so that equal input gives a byte-equal list.
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
    (a, b) => (a.type < b.type ? -1 : 1),
  );
}

/** In the order of the work: a component waits for the first condition that is not known yet. */
const inOrderOfWork = [
  "TargetClusterResolved",
  "VersionMigrationEligible",
  "InstallSucceeded",
  "DeploymentsAvailable",
  "DependenciesInstalled",
] as const satisfies readonly ConditionType[];

/**
 * `Ready` of a component: False if any dependent is False (the newest transition wins), else Unknown if any is Unknown or
 * missing (the first in the order of the work), else True. Spec: knative-operator.md 4.5.
 */
export function readyOf(
  conditions: readonly Condition[],
): Pick<Condition, "status" | "reason" | "message"> {
  const dependents = inOrderOfWork.map(
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
