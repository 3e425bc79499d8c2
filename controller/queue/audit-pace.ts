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
