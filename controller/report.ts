import { type Component, componentKeyOf } from "../api/component.ts";
import { targetIdOf } from "./duplicate.ts";
import { nextOf, type Outcome } from "./outcome.ts";
import type { Next } from "./queue.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { type StatusChange, StatusReport } from "./status-report.ts";
import { happeningsOf } from "./transitions.ts";

/** The report on one reconcile. */
export function openReport(
  { component, installation }: Subject,
  { hub, clock }: Pick<ReconcileDeps, "hub" | "clock">,
): StatusReport {
  const lastWrittenAt = installation.statusWrittenAt;
  return new StatusReport(component, { client: hub, clock, lastWrittenAt });
}

export interface Conclusion extends Subject {
  readonly report: StatusReport;
  readonly outcome: Outcome;
}

/**
 * Tells the outcome as status, Events, metrics and one line of log, and decides when to come back. Rejects when the hub does not
 * take the status.
 */
export async function conclude(
  { component, installation, report, outcome }: Conclusion,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Next> {
  const next = nextOf(outcome, deps.pollMs);
  const postponedMs = report.postponedMs(outcome);
  if (postponedMs > 0 && next.kind !== "backoff") return { kind: "after", ms: postponedMs };
  const change = await report.finish(outcome, signal);
  installation.statusWrittenAt = report.lastWrittenAt;
  if (outcome.kind === "failed") deps.metrics.failed(outcome.error);
  tellLog({ component, outcome, change }, deps);
  for (const happening of happeningsOf(change.before, change.after, outcome)) {
    await deps.events.record(report.latest, happening, signal);
  }
  return next;
}

interface Told {
  readonly component: Component;
  readonly outcome: Outcome;
  readonly change: StatusChange;
}

/** A failure is told aloud when it is new, and then only to those who want all. */
function tellLog({ component, outcome, change }: Told, { log }: Pick<ReconcileDeps, "log">): void {
  const lines = log.child(logFieldsOf(component));
  const isNews = change.before !== change.after;
  if (outcome.kind === "failed") {
    const fields = { reason: outcome.error.reason, err: outcome.error };
    if (isNews) lines.error(fields, "Reconcile failed");
    else lines.debug(fields, "Reconcile failed again");
    return;
  }
  const ready = change.after?.conditions?.find(({ type }) => type === "Ready");
  const { status, reason, message } = ready ?? {};
  const fields = { ready: status, reason, message };
  if (isNews) lines.info(fields, "Reconciled");
  else lines.debug(fields, "Reconciled, nothing new");
}

/** How lines of the log name a component. */
export function logFieldsOf(component: Component): {
  readonly component: string;
  readonly spoke?: string;
} {
  const { kind, namespace, name } = componentKeyOf(component);
  const spoke = targetIdOf(component);
  return { component: `${kind} ${namespace}/${name}`, ...(spoke === "" ? {} : { spoke }) };
}
