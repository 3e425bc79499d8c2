import { areRecords, byText } from "./fields.ts";
import { foreignText } from "./foreign-text.ts";
import type { Condition } from "./kubernetes.ts";
import type { ConditionType } from "./reasons.ts";

const conditionTexts = ["reason", "message", "lastTransitionTime"];

/** Whether a value of a status is a list of conditions, as every API server and controller writes them. */
export function areConditions(value: unknown): value is readonly Condition[] {
  return (
    areRecords(value) &&
    value.every(
      (condition) =>
        typeof condition["type"] === "string" &&
        ["True", "False", "Unknown"].includes(String(condition["status"])) &&
        conditionTexts.every((field) => ["undefined", "string"].includes(typeof condition[field])),
    )
  );
}

/** The condition of a type; undefined when the list lacks it or is missing. */
export function conditionOf(
  conditions: readonly (Condition | null)[] | null | undefined,
  type: string,
): Condition | undefined {
  // A bundle can hold anything in their place.
  if (!Array.isArray(conditions)) return undefined;
  return conditions.find((condition) => condition?.type === type) ?? undefined;
}

/**
 * The list with one condition replaced or added, sorted by type. `lastTransitionTime` changes only with the status, as in Kubernetes. Equal input
 * gives a byte-equal list.
 *
 * All conditions are made here, so their messages become plain text here: messages contain texts of clusters, plugins and other teams' objects.
 */
export function withCondition(
  conditions: readonly Condition[],
  said: Omit<Condition, "lastTransitionTime">,
  now: Date,
): readonly Condition[] {
  const next = plainEntry(said);
  const current = conditionOf(conditions, next.type);
  const since = current?.status === next.status ? current.lastTransitionTime : undefined;
  const entry: Condition = { ...next, lastTransitionTime: since ?? timestampOf(now) };
  return [...conditions.filter((condition) => condition.type !== next.type), entry].toSorted(
    byText(({ type }) => type),
  );
}

const longestMessage = 4_096;
// A reason in the form that the API requires, no longer than a label. Empty: none.
const reasonShape = /^(?:[A-Za-z](?:[\w,:]{0,126}\w)?)?$/;

function plainEntry(
  entry: Omit<Condition, "lastTransitionTime">,
): Omit<Condition, "lastTransitionTime"> {
  const { reason = "", message } = entry;
  return {
    ...entry,
    ...(reasonShape.test(reason) ? {} : { reason: "Unknown" }),
    ...(message === undefined ? {} : { message: foreignText(message, longestMessage) }),
  };
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
 * `Ready` of a component.
 *
 * False if a dependent condition is False: the condition with the newest transition gives reason and message. Else Unknown if a condition is Unknown
 * or missing: the first one with a reason, in the order of an install, gives them. Else True. Spec: knative-operator.md 4.5.
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
