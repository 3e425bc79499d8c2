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
