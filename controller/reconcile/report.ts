import type { Component } from "../../api/component.ts";
import { reasons } from "../../api/reasons.ts";
import { logFieldsOf } from "../log.ts";
import type { ObservedChange } from "../observe/observation.ts";
import { delay, type Clock } from "../queue/clock.ts";
import { leastMsOf, type Next } from "../queue/delays.ts";
import { olderTwinOf, claimantsOf, refusalOf } from "./claims.ts";
import { doubtOf } from "./doubt.ts";
import { sharingOf } from "./happenings.ts";
import { type Outcome, askedWaitMs, isComplete } from "./outcome.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import {
  type StatusChange,
  type StatusWriter,
  openStatusWriter,
  type StatusClient,
} from "./status-writer.ts";

export interface Conclusion extends Subject {
  readonly report: StatusWriter;
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

// Nothing on the cluster tells that what a removal waits for is over: nobody watches it any more.
const removalPaceMs = 10_000;

/** When to come back after an outcome; `pollMs` is the pace at which what is not ready is looked at again. */
export function nextOf(outcome: Outcome, pollMs: number): Next {
  if (outcome.kind === "applied") return afterApplied(outcome, pollMs);
  // Work that did not come to an end is begun again.
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

// An attempt that begins with a change usually ends before, and tells more.
const patienceMs = 2_000;

/** Milliseconds after which a change must have been told of; undefined: it tells nothing of workloads. */
export function retractionDelayOf({ kind }: ObservedChange): number | undefined {
  if (kind === "labels" || kind === "job") return undefined;
  // Of a watch that has been missed for some seconds already.
  return kind === "watch" ? 0 : patienceMs;
}

/**
 * Takes back that all workloads are available when the watches show otherwise. For changes that no attempt has told of in time: one that runs may wait for its cluster,
 * and the next one may have to wait before it begins. What is true again is told by an attempt. Rejects when the hub does not take the status.
 */
export async function retract(
  { component, installation }: Subject,
  deps: Pick<ReconcileDeps, "hub" | "clock" | "events" | "spokes">,
  signal: AbortSignal,
): Promise<void> {
  const doubt = mayDoubt(component, deps) && installation.view && doubtOf(installation.view);
  if (!doubt) return;
  const outcome = { kind: "seen", doubt } as const;
  // Its own next write tells of what it has come to.
  if (installation.report !== undefined) return installation.report.progress(outcome, signal);
  const wrote = installation.writing();
  const report = openStatusWriter({ component, installation }, deps, signal);
  await report.finish(outcome, signal);
  await report.told();
  wrote(report.latest);
}

/** Of a cluster that is lost the attempts tell, and of one that is being left nothing is claimed. */
function mayDoubt(
  { spec, metadata }: Component,
  { spokes }: Pick<ReconcileDeps, "spokes">,
): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  const ref = spec?.clusterProfileRef;
  return ref === undefined || spokes.state(ref)?.kind === "connected";
}

// The work itself tells at its beginning; this is for components that have to wait for a worker.
const delayMs = 150;

/** Says on a new component that it was seen, unless work on it begins before. */
export class Greeting {
  readonly #timer: Disposable;
  #writing: Promise<void> = Promise.resolve();

  /** `write` must not reject. */
  constructor(clock: Clock, write: () => Promise<void>) {
    this.#timer = clock.after(delayMs, () => {
      this.#writing = write();
    });
  }

  /** Says nothing any more; resolves when what is being said is said. */
  stop(): Promise<void> {
    this.#timer[Symbol.dispose]();
    return this.#writing;
  }
}

/** Writes the first conditions of a component. A duplicate, and one that may not use its cluster, is not taken up. Never rejects: the work tells the same again. */
export async function greet(
  { component, installation }: Subject,
  deps: Pick<ReconcileDeps, "clock" | "events" | "components" | "references"> & {
    readonly hub: StatusClient;
  },
  signal: AbortSignal,
): Promise<void> {
  if (refusalOf(component, deps) !== undefined) return;
  if (olderTwinOf(component, claimantsOf(deps)) !== undefined) return;
  const wrote = installation.writing();
  const report = openStatusWriter({ component, installation }, deps, signal);
  const steps = { eligible: false, resolved: false };
  try {
    await report.finish({ kind: "working", steps }, signal);
  } catch {
    return;
  }
  wrote(report.latest);
}
