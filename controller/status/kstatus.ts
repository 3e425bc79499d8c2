import type { Component } from "../../api/component.ts";
import { conditionOf, withCondition } from "../../api/conditions.ts";
import type { FleetError } from "../../api/errors.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { progressConditions } from "../../api/reasons.ts";
import { isLastingFailure, lastingFailureOf } from "../../sets/component-condition.ts";
import { isForNow, type Outcome } from "./outcome.ts";

type Why = Pick<Condition, "reason" | "message">;

/**
 * The conditions with those that kstatus reads, and so Flux, Helm and kpt: failure, and work in progress. At most one of `Stalled` and `Reconciling`
 * exists, and it is True. `Stalled`: an attempt at the current spec failed and will fail again. `Reconciling`: the component is not Ready for another
 * reason. Its time begins again with each new spec, so that it tells since when the work on this spec goes on.
 */
export function withKstatus(
  { metadata, status }: Pick<Component, "metadata" | "status">,
  conditions: readonly Condition[],
  { outcome, now }: { readonly outcome: Outcome; readonly now: Date },
): readonly Condition[] {
  const others = conditions.filter(({ type }) => !isProgress(type));
  const ready = conditionOf(others, "Ready");
  const isDeleted = metadata.deletionTimestamp !== undefined;
  if (isDeleted || ready === undefined || ready.status === "True") return others;
  const stalled = stalledBy(outcome);
  const { reason = "Installing", message = "" } = stalled ?? ready;
  const type = stalled === undefined ? "Reconciling" : "Stalled";
  const isOfSpec = status?.observedGeneration === metadata.generation;
  const before = isOfSpec ? conditionOf(conditions, type) : undefined;
  const known = before === undefined ? others : [...others, before];
  return withCondition(known, { type, status: "True", reason, message }, now);
}

function isProgress(type: string): boolean {
  return progressConditions.some((one) => one === type);
}

/** Why further attempts at this spec will fail. Conditions of an earlier spec may still exist, so only the outcome counts. */
function stalledBy(outcome: Outcome): Why | undefined {
  if (outcome.kind === "failed") return failureOf([outcome.error, outcome.steps.obstacle]);
  if (outcome.kind === "applied") return lastingFailureOf([availabilityOf(outcome.readiness)]);
  if (outcome.kind === "seen") {
    return lastingFailureOf([{ type: "DeploymentsAvailable", ...outcome.doubt }]);
  }
  return outcome.kind === "reported" ? lastingFailureOf(outcome.conditions) : undefined;
}

function failureOf(errors: readonly (FleetError | undefined)[]): Why | undefined {
  return errors.find(
    (error) => error !== undefined && !isForNow(error) && isLastingFailure(error.reason),
  );
}

function availabilityOf({
  available,
  message,
}: Extract<Outcome, { kind: "applied" }>["readiness"]): Condition {
  const status = available ? "True" : "False";
  return { type: "DeploymentsAvailable", status, reason: "NotReady", message };
}
