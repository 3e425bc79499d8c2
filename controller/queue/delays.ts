import type { ObservedChange } from "../observe/observation.ts";

/**
 * When to look at a key again after its work: `done` and `change` wait for the next `add`; `after` comes back by itself; `backoff`
 * comes back after a time that grows with every failure in a row, to `mostMs` at most. Neither before `leastMs`, whatever is hastened. All but `backoff` end the row of failures.
 */
export type Next =
  | { readonly kind: "done" }
  | { readonly kind: "change" }
  | { readonly kind: "after"; readonly ms: number; readonly leastMs?: number }
  | { readonly kind: "backoff"; readonly mostMs?: number; readonly leastMs?: number };

/** Milliseconds before which nothing brings a key back but an `add`. */
export function leastMsOf(next: Next): number {
  return next.kind === "backoff" || next.kind === "after" ? (next.leastMs ?? 0) : 0;
}

const delaysMs = {
  workload: 20,
  // A Job's end is written in several steps, and which of them tells the reason costs a request to find out.
  job: 250,
  drift: 50,
};
// An object that somebody changes again and again is slowed down by itself; see conflicts.ts.
const driftIntervalMs = 250;

/** How long, in ms, a look at a change waits for others to be looked at with it. Drift is looked at four times a second at most, which `installation` remembers. */
export function lookDelayOf(
  { kind }: Pick<ObservedChange, "kind">,
  installation: { driftAt: number },
  now: number,
): number {
  if (kind === "workload" || kind === "job") return delaysMs[kind];
  const at = Math.max(now + delaysMs.drift, installation.driftAt + driftIntervalMs);
  if (installation.driftAt <= now) installation.driftAt = at;
  return Math.max(0, installation.driftAt - now);
}

/** How often everything is sent again that seems to be right; see `InstallationMemory.isAuditDue`. */
export interface AuditPace {
  /** 0 and less: never. */
  readonly intervalMs: number;
  /** 0 to 1. */
  readonly random: () => number;
}

/**
 * Milliseconds until the next audit of one installation: the first one after our start comes in the second half of the interval, so that those
 * of a fleet do not meet, the others 10 % earlier or later. Undefined: there is none.
 */
export function untilAuditMs(
  { intervalMs, random }: AuditPace,
  { isFirst }: { readonly isFirst: boolean },
): number | undefined {
  if (intervalMs <= 0) return undefined;
  return intervalMs * (isFirst ? 0.5 + random() / 2 : 0.9 + random() / 5);
}

const firstMs = 5;
const ceilingMs = 5 * 60_000;

/**
 * Milliseconds to wait after the nth failure in a row (1, 2, …): 5 ms doubling to 5 minutes, of which `random` (0 to 1) takes
 * away up to a half, so that components that failed together do not come back together.
 */
export function backoffMs(failures: number, random: number): number {
  const full = Math.min(ceilingMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return full * (1 - random / 2);
}
