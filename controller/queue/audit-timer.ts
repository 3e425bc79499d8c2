/** Interval of the audits, which send every object again; see `withAudit` of install-state.ts. */
export interface AuditPace {
  /** 0 and less: no audits. */
  readonly intervalMs: number;
  /** 0 to 1. */
  readonly random: () => number;
}

// A timer of Node holds at most 24 days.
const longestTimerMs = 86_400_000;

/** The time of the next audit of one installation. An installation that is not complete has audits, too: it can stay so for weeks, and an ordinary attempt sees only what the watches show. */
export class AuditTimer {
  #dueAt: number | undefined;

  /** Whether an audit is due. Sets the time of the next one then, and at the first call. */
  takeDue(pace: AuditPace, now: number): boolean {
    if (this.#dueAt !== undefined && now < this.#dueAt) return false;
    const isFirst = this.#dueAt === undefined;
    const ms = untilAuditMs(pace, { isFirst });
    this.#dueAt = ms === undefined ? undefined : now + ms;
    return !isFirst;
  }

  /** Milliseconds until the next audit, as far as a timer can hold them; undefined: there is none. */
  restMs(now: number): number | undefined {
    if (this.#dueAt === undefined) return undefined;
    return Math.min(longestTimerMs, Math.max(0, this.#dueAt - now));
  }
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
