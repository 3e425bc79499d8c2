import type { Component } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import { reasons } from "../../api/reasons.ts";
import { logFieldsOf } from "../log.ts";
import type { ObservedChange } from "../observe/observation.ts";
import { delay, type Clock } from "../queue/clock.ts";
import { leastMsOf, type Next } from "../queue/delays.ts";
import { olderClaimantOf, refusalOf } from "./claims.ts";
import { sharedCredentialEvent } from "./component-events.ts";
import { doubtOf } from "./doubt.ts";
import { type Outcome, askedWaitMs, isComplete } from "./outcome.ts";
import type { Attempt, ReconcileDeps, Subject } from "./reconcile-deps.ts";
import type { StatusChange, WriterDeps } from "./status-writer.ts";

export interface Conclusion extends Attempt {
  readonly outcome: Outcome;
}

/**
 * Ends an attempt: writes the outcome as status, Events, metrics and one line of log, and says when to come back. When the pace of the status forbids the write,
 * the next attempt comes at that time and writes the state of that time. Only when the next attempt must not come so soon, this one waits. Rejects when the hub refuses
 * the status.
 */
export async function conclude(
  { component, installation, writer, outcome }: Conclusion,
  deps: Pick<ReconcileDeps, "pollMs" | "metrics" | "log" | "tokens" | "events" | "clock">,
  signal: AbortSignal,
): Promise<Next> {
  const next = nextOf(outcome, deps.pollMs);
  if (outcome.kind === "failed") deps.metrics.countFailure(outcome.error);
  // A progress write that is running may already say the outcome, and no progress may follow the outcome.
  await writer.quiet();
  const postponedMs = writer.postponedMs(outcome);
  if (postponedMs > 0 && leastMsOf(next) < postponedMs) return soonerOf(next, postponedMs);
  if (postponedMs > 0) await delay(deps.clock, postponedMs, signal);
  const change = await writer.finish(outcome, signal);
  tellLog({ component, installation, outcome, change }, deps);
  await writer.told();
  const sharing = deps.tokens && sharedCredentialEvent(component, installation, deps.tokens);
  if (sharing !== undefined) await deps.events.record(component, sharing, signal);
  return next;
}

/** Comes back after a time at the latest. A back-off stays a back-off. */
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

/** Logs a new failure as an error, and a repeated one for debugging only. */
function tellLog({ outcome, change, ...subject }: Told, { log }: Pick<ReconcileDeps, "log">): void {
  const lines = log.child(logFieldsOf(subject));
  const isNews = change.before !== change.after;
  if (outcome.kind === "failed") {
    const fields = { reason: outcome.error.reason, err: outcome.error };
    if (isNews) lines.error(fields, "Reconcile failed");
    else lines.debug(fields, "Reconcile failed again");
    return;
  }
  const ready = conditionOf(change.after?.conditions, "Ready");
  const { status, reason, message } = ready ?? {};
  const fields = { ready: status, reason, message };
  if (isNews) lines.info(fields, "Reconciled");
  else lines.debug(fields, "Reconciled, nothing new");
}

// During a removal nothing is watched: only another attempt shows that the wait is over.
const removalPaceMs = 10_000;

/** When to come back after an outcome. `pollMs` is the interval at which an installation that is not ready is checked. */
export function nextOf(outcome: Outcome, pollMs: number): Next {
  if (outcome.kind === "applied") return afterApplied(outcome, pollMs);
  // An attempt that did not end is repeated.
  if (outcome.kind !== "failed") return { kind: "backoff" };
  const { error, isRemoval = false } = outcome;
  if (reasons[error.reason].retry !== "backoff") return { kind: "after", ms: pollMs };
  const waits = isRemoval && error.reason === "ClusterBusy";
  const leastMs = askedWaitMs(error);
  return {
    kind: "backoff",
    ...(waits ? { mostMs: Math.min(removalPaceMs, pollMs) } : {}),
    ...(leastMs > 0 ? { leastMs } : {}),
  };
}

function afterApplied(outcome: Extract<Outcome, { kind: "applied" }>, pollMs: number): Next {
  const { changes, unsureMs = 0, hasUnsureJobs = false } = outcome;
  if (changes.failed.length > 0) return { kind: "backoff" };
  const waitsMs = [
    ...(changes.conflicts ?? []).map(({ dueMs }) => dueMs),
    ...(unsureMs > 0 ? [unsureMs] : []),
    ...(isComplete(outcome) && !hasUnsureJobs ? [] : [pollMs]),
  ];
  if (waitsMs.length === 0) return { kind: "done" };
  const { parked, lingering = [] } = changes;
  const leastMs = Math.max(0, ...[...parked, ...lingering].map(({ askedMs = 0 }) => askedMs));
  const ms = Math.min(...waitsMs);
  return leastMs === 0 ? { kind: "after", ms } : { kind: "after", ms, leastMs };
}

// The attempt that the change starts usually ends earlier, and its status says more.
const patienceMs = 2_000;

/** Milliseconds after which the status must show a change on the target; undefined: the change does not concern workloads. */
export function retractionDelayOf({ kind }: ObservedChange): number | undefined {
  if (kind === "labels" || kind === "job") return undefined;
  // The watch was interrupted some seconds ago.
  return kind === "watch" ? 0 : patienceMs;
}

/**
 * Takes the claim back that all workloads are available, when the watches show otherwise and no attempt has done so in time: an attempt can wait for its cluster or for
 * a worker. Only an attempt writes the claim again. Rejects when the hub refuses the status.
 */
export async function retract(
  { component, installation }: Subject,
  deps: WriterDeps & Pick<ReconcileDeps, "spokes">,
  signal: AbortSignal,
): Promise<void> {
  const doubt = mayDoubt(component, deps) && installation.view && doubtOf(installation.view);
  if (!doubt) return;
  const outcome = { kind: "seen", doubt } as const;
  // The running attempt writes it.
  if (installation.writer !== undefined) return installation.writer.progress(outcome, signal);
  const writer = await installation.writeBetweenAttempts(outcome, { component, ...deps }, signal);
  await writer.told();
}

/** Not for a lost cluster, of which the attempts tell, and not during a removal, when the status claims nothing. */
function mayDoubt(
  { spec, metadata }: Component,
  { spokes }: Pick<ReconcileDeps, "spokes">,
): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  const ref = spec?.clusterProfileRef;
  return ref === undefined || spokes.state(ref)?.kind === "connected";
}

// An attempt writes first conditions itself. This is for components that have to wait for a worker.
const delayMs = 150;

/** The timer that gives a new component its first conditions, unless its first attempt begins before. */
export class Greeting {
  readonly #timer: Disposable;
  #writing: Promise<void> = Promise.resolve();

  /** `write` must not reject. */
  constructor(clock: Clock, write: () => Promise<void>) {
    this.#timer = clock.after(delayMs, () => {
      this.#writing = write();
    });
  }

  /** Stops the timer; resolves when a running write has ended. */
  stop(): Promise<void> {
    this.#timer[Symbol.dispose]();
    return this.#writing;
  }
}

/** Writes the first conditions of a component, but not of a duplicate or of one that may not use its cluster. Never rejects: the first attempt writes them again. */
export async function greet(
  { component, installation }: Subject,
  deps: WriterDeps & Pick<ReconcileDeps, "components" | "references">,
  signal: AbortSignal,
): Promise<void> {
  if (refusalOf(component, deps) !== undefined) return;
  if (olderClaimantOf(component, deps) !== undefined) return;
  const outcome = { kind: "working", steps: { eligible: false, resolved: false } } as const;
  await installation
    .writeBetweenAttempts(outcome, { component, ...deps }, signal)
    .catch(() => undefined);
}
