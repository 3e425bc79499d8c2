import { delay } from "../../access/time/clock.ts";
import { conditionOf } from "../../api/conditions.ts";
import { reasons } from "../../api/reasons.ts";
import { logFieldsOf } from "../log.ts";
import { leastMsOf, type Next } from "../queue/delays.ts";
import { takeSharedCredentialEvent, type StatusChange } from "../status/component-events.ts";
import { type Outcome, askedWaitMs, isComplete } from "../status/outcome.ts";
import type { Attempt, ReconcileDeps, Subject } from "./reconcile-deps.ts";

export interface Conclusion extends Attempt {
  readonly outcome: Outcome;
}

/**
 * Ends an attempt: writes the outcome as status, Events, metrics and one line of log, and says when to come back. When the pace of the status forbids the write, the next attempt
 * comes as soon as the pace allows it, and writes the state of that time. This attempt waits only when the next one must not come so soon. Rejects when the hub refuses the
 * status.
 */
export async function conclude(
  { component, installation, writer, outcome }: Conclusion,
  deps: Pick<ReconcileDeps, "pollMs" | "metrics" | "log" | "tokens" | "events" | "clock">,
  signal: AbortSignal,
): Promise<Next> {
  const next = nextOf(outcome, deps.pollMs);
  if (outcome.kind === "failed") deps.metrics.countFailure(outcome.error);
  // A running write of progress may already have written the same status, and no progress may follow the outcome.
  await writer.stopProgress();
  const postponedMs = writer.postponedMs(outcome);
  if (postponedMs > 0 && isParked(outcome)) return { kind: "after", ms: postponedMs };
  if (postponedMs > 0 && leastMsOf(next) < postponedMs) return soonerOf(next, postponedMs);
  if (postponedMs > 0) await delay(deps.clock, postponedMs, signal);
  const change = await writer.finish(outcome, signal);
  logOutcome({ component, installation, outcome, change }, deps);
  await writer.eventsRecorded();
  const sharing =
    deps.tokens && takeSharedCredentialEvent(component, installation.told, deps.tokens);
  if (sharing !== undefined) await deps.events.record(component, sharing, signal);
  return next;
}

/** Comes back after a time at the latest. A back-off stays a back-off. A sweep becomes `after`: the next attempt only writes the status. */
function soonerOf(next: Next, ms: number): Next {
  if (next.kind === "backoff") {
    return { ...next, mostMs: Math.min(ms, next.mostMs ?? Infinity) };
  }
  return { kind: "after", ms: next.kind === "after" ? Math.min(ms, next.ms) : ms };
}

/** Logs a new failure as an error, and a repeated one for debugging only. */
function logOutcome(
  {
    outcome,
    change,
    ...subject
  }: Subject & { readonly outcome: Outcome; readonly change: StatusChange },
  { log }: Pick<ReconcileDeps, "log">,
): void {
  const child = log.child(logFieldsOf(subject));
  const isNews = change.before !== change.after;
  if (outcome.kind === "failed") {
    const fields = { reason: outcome.error.reason, err: outcome.error };
    if (isNews) child.error(fields, "Reconcile failed");
    else child.debug(fields, "Reconcile failed again");
    return;
  }
  const ready = conditionOf(change.after?.conditions, "Ready");
  const { status, reason, message } = ready ?? {};
  const fields = { ready: status, reason, message };
  if (isNews) child.info(fields, "Reconciled");
  else child.debug(fields, "Reconciled, nothing new");
}

// A removal has no watches: only another attempt can see that the wait is over. One that waits for users' objects can do so for weeks, and there may be thousands.
const removalPaceMs = 60_000;

/** Whether only a change of what is watched can help. */
function isParked(outcome: Outcome): boolean {
  return outcome.kind === "failed" && reasons[outcome.error.reason].retry === "change";
}

/**
 * When to come back after an outcome. What can be seen by watches waits for them; `pollMs` is the first pause of the sweep beside them, which finds what no watch tells: a webhook of
 * others that answers again, a quota that was raised, why pods do not start.
 */
export function nextOf(outcome: Outcome, pollMs: number): Next {
  if (outcome.kind === "applied") return afterApplied(outcome, pollMs);
  // What changes is told by the watches of the works.
  if (outcome.kind === "reported") return { kind: "done" };
  // An attempt without a result is repeated.
  if (outcome.kind !== "failed") return { kind: "backoff" };
  const { error, isRemoval = false } = outcome;
  if (isParked(outcome)) return { kind: "sweep", firstMs: pollMs, leastMs: pollMs };
  const waits = isRemoval && error.reason === "ClusterBusy";
  const leastMs = askedWaitMs(error);
  return {
    kind: "backoff",
    ...(waits ? { mostMs: removalPaceMs } : {}),
    ...(leastMs > 0 ? { leastMs } : {}),
  };
}

function afterApplied(outcome: Extract<Outcome, { kind: "applied" }>, pollMs: number): Next {
  const { changes, unsureMs = 0, unblockMs = 0, hasUnsureJobs = false } = outcome;
  if (changes.failed.length > 0) return { kind: "backoff" };
  const { parked, lingering = [], conflicts = [] } = changes;
  const inMs = [unsureMs, unblockMs].filter((ms) => ms > 0);
  const waitsMs = [...conflicts.map(({ dueMs }) => dueMs), ...inMs];
  const ms = Math.min(...waitsMs);
  const asked = [...parked, ...lingering].map(({ askedMs = 0 }) => askedMs);
  const least = asked.some((one) => one > 0) ? { leastMs: Math.max(...asked) } : {};
  if (!isComplete(outcome) || hasUnsureJobs) {
    const most = waitsMs.length === 0 ? {} : { mostMs: ms };
    return { kind: "sweep", firstMs: pollMs, ...most, ...least };
  }
  return waitsMs.length === 0 ? { kind: "done" } : { kind: "after", ms };
}
