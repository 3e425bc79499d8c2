import type { Backoff } from "../../access/time/backoff.ts";

/**
 * When a key comes back after its work. `done` and `change` wait for the next `add`. `after` comes back after a time. `backoff` comes back after a time that grows with every failure
 * in a row, up to `mostMs`; all other kinds end the row. `sweep` waits for a change as `done` does, and comes back without one ever more rarely, after `mostMs` at the latest; see `sweepMs`.
 * Only an `add` brings a key back before `leastMs`.
 */
export type Next =
  | { readonly kind: "done" }
  | { readonly kind: "change" }
  | { readonly kind: "after"; readonly ms: number; readonly leastMs?: number }
  | { readonly kind: "backoff"; readonly mostMs?: number; readonly leastMs?: number }
  | ({ readonly kind: "sweep"; readonly leastMs?: number } & SweepPace);

export interface SweepPace {
  /** The pause after a change. */
  readonly firstMs: number;
  readonly mostMs?: number;
}

/** Milliseconds before which only an `add` brings a key back. */
export function leastMsOf(next: Next): number {
  return next.kind === "done" || next.kind === "change" ? 0 : (next.leastMs ?? 0);
}

/** The same with at least so many milliseconds before it comes back, but for an `add`. */
export function notBefore(next: Next, ms: number): Next {
  if (next.kind === "done" || next.kind === "change") return next;
  return ms <= leastMsOf(next) ? next : { ...next, leastMs: ms };
}

const delaysMs = {
  workload: 20,
  // Kubernetes writes the end of a Job in several steps. Reading the cause costs a request, so wait for the last step.
  job: 250,
  drift: 50,
};
// For all drift of one component. Repairs of an object in a conflict are slower; see conflicts.ts.
const driftIntervalMs = 250;

/**
 * Milliseconds for which a change on the target waits for others, to share an attempt with them. Drift is repaired at most four times a second; `installation` remembers the last
 * time.
 */
export function changeDelayMs(
  { kind }: { readonly kind: string },
  installation: { driftAt: number },
  now: number,
): number {
  if (kind === "workload" || kind === "job") return delaysMs[kind];
  const at = Math.max(now + delaysMs.drift, installation.driftAt + driftIntervalMs);
  if (installation.driftAt <= now) installation.driftAt = at;
  return Math.max(0, installation.driftAt - now);
}

/** Interval of the audits, which send every object again; see `withAudit` of install-state.ts. */
export interface AuditPace {
  /** 0 and less: no audits. */
  readonly intervalMs: number;
  /** 0 to 1. */
  readonly random: () => number;
}

/**
 * Milliseconds until the next audit of one installation; undefined: no audits. The first audit after the start of the controller comes in the second half of the interval, so that
 * the audits of a fleet spread. Later ones come up to 10 % earlier or later.
 */
export function untilAuditMs(
  { intervalMs, random }: AuditPace,
  { isFirst }: { readonly isFirst: boolean },
): number | undefined {
  if (intervalMs <= 0) return undefined;
  return intervalMs * (isFirst ? 0.5 + random() / 2 : 0.9 + random() / 5);
}

/**
 * Requests the audit of an installation when it is due, and sets the time of the next one. An installation that is not complete has audits, too: it can stay so for weeks, and an
 * ordinary attempt sees only what the watches show.
 */
export function requestAuditIfDue(
  installation: { auditAt: number | undefined; requestAudit(): void },
  pace: AuditPace,
  now: number,
): void {
  const { auditAt } = installation;
  if (auditAt !== undefined && now < auditAt) return;
  if (auditAt !== undefined) installation.requestAudit();
  const ms = untilAuditMs(pace, { isFirst: auditAt === undefined });
  installation.auditAt = ms === undefined ? undefined : now + ms;
}

// A timer of Node holds at most 24 days.
const longestTimerMs = 86_400_000;

/** Milliseconds until a time, as far as a timer can hold them. */
export function timerMs(at: number, now: number): number {
  return Math.min(longestTimerMs, Math.max(0, at - now));
}

// As long as the longest pause after failures.
const longestSweepMs = 5 * 60_000;

/**
 * Milliseconds until a key is looked at again of which nothing was told for `quietMs`: as long as it has been quiet, so that the pauses double, up to five minutes. Up to a fifth more by
 * chance spreads keys that came together. `random` is in [0, 1).
 */
export function sweepMs(
  { firstMs, mostMs = Infinity }: SweepPace,
  quietMs: number,
  random: number,
): number {
  const ms = Math.min(Math.max(firstMs, quietMs), Math.max(firstMs, longestSweepMs));
  return Math.min(mostMs, ms * (1 + random / 5));
}

/** The pauses of a key that fails. */
export const queueBackoff: Backoff = { firstMs: 5, longestMs: 5 * 60_000, jitter: 1 / 2 };
