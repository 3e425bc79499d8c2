import { logFieldsOf } from "./log-fields.ts";
import { nextOf, type Outcome } from "./outcome.ts";
import type { Next } from "./queue.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { sharingOf } from "./shared-credential.ts";
import { type StatusChange, type StatusClient, StatusReport } from "./status-report.ts";
import { happeningsOf } from "./transitions.ts";

/** The report on one reconcile; what it writes is told in Events, too. */
export function openReport(
  { component, installation }: Subject,
  { hub, clock, events }: Pick<ReconcileDeps, "clock" | "events"> & { readonly hub: StatusClient },
  signal: AbortSignal,
): StatusReport {
  const report = new StatusReport(component, {
    client: hub,
    clock,
    lastWrittenAt: installation.statusWrittenAt,
    onWritten: async ({ before, after, outcome, component: latest }) => {
      installation.statusWrittenAt = report.lastWrittenAt;
      for (const happening of happeningsOf(before, after, outcome)) {
        await events.record(latest, happening, signal);
      }
    },
  });
  return report;
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
  if (outcome.kind === "failed") deps.metrics.failed(outcome.error);
  tellLog({ component, installation, outcome, change }, deps);
  await report.told();
  const sharing = deps.tokens && sharingOf(component, installation, deps.tokens);
  if (sharing !== undefined) await deps.events.record(component, sharing, signal);
  return next;
}

interface Told extends Subject {
  readonly outcome: Outcome;
  readonly change: StatusChange;
}

/** A failure is told aloud when it is new, and then only to those who want all. */
function tellLog({ outcome, change, ...subject }: Told, { log }: Pick<ReconcileDeps, "log">): void {
  const lines = log.child(logFieldsOf(subject));
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
