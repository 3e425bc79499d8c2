import { logFieldsOf } from "../log-fields.ts";
import { delay, outlasting } from "../queue/clock.ts";
import { nextOf } from "../queue/next-of.ts";
import { leastMsOf, type Next } from "../queue/queue.ts";
import { sharingOf } from "../shared-credential.ts";
import type { Outcome } from "./outcome.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { type StatusChange, type StatusClient, StatusReport } from "./status-report.ts";
import { happeningsOf } from "./transitions.ts";

// A hub answers in milliseconds, and who takes over waits for us.
const lastWordsMs = 300;

/** The report on one reconcile; what it writes is told in Events, too, also when the signal is aborted right behind the write: nobody else would tell it. */
export function openReport(
  { component, installation }: Subject,
  { hub, clock, events }: Pick<ReconcileDeps, "clock" | "events"> & { readonly hub: StatusClient },
  signal: AbortSignal,
): StatusReport {
  return new StatusReport(component, {
    client: hub,
    clock,
    pace: installation.statusPace,
    onWritten: async ({ before, after, outcome, component: latest }) => {
      using words = outlasting(clock, lastWordsMs, signal);
      for (const happening of happeningsOf(before, after, outcome)) {
        await events.record(latest, happening, words.signal);
      }
    },
  });
}

export interface Conclusion extends Subject {
  readonly report: StatusReport;
  readonly outcome: Outcome;
}

/**
 * Tells the outcome as status, Events, metrics and one line of log, and decides when to come back. What may not be written yet is not waited for: whoever
 * comes back then tells what is so by that time, unless nobody is to come back so soon. Rejects when the hub does not take the status.
 */
export async function conclude(
  { component, installation, report, outcome }: Conclusion,
  deps: Pick<ReconcileDeps, "pollMs" | "metrics" | "log" | "tokens" | "events" | "clock">,
  signal: AbortSignal,
): Promise<Next> {
  const next = nextOf(outcome, deps.pollMs);
  if (outcome.kind === "failed") deps.metrics.failed(outcome.error);
  // What is being written may be all that there is to say, and progress must not follow the end.
  await report.quiet();
  const postponedMs = report.postponedMs(outcome);
  if (postponedMs > 0 && leastMsOf(next) < postponedMs) return soonerOf(next, postponedMs);
  if (postponedMs > 0) await delay(deps.clock, postponedMs, signal);
  const change = await report.finish(outcome, signal);
  tellLog({ component, installation, outcome, change }, deps);
  await report.told();
  const sharing = deps.tokens && sharingOf(component, installation, deps.tokens);
  if (sharing !== undefined) await deps.events.record(component, sharing, signal);
  return next;
}

/** Comes back after a time at the latest; failures in a row stay that. */
function soonerOf(next: Next, ms: number): Next {
  if (next.kind === "backoff") {
    return { ...next, mostMs: Math.min(ms, next.mostMs ?? Infinity) };
  }
  return { kind: "after", ms: next.kind === "after" ? Math.min(ms, next.ms) : ms };
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
