/** How the pauses after failures grow: from the first one, doubled with each further failure, up to the longest. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
  /** The share of a pause that chance may leave out, so that what failed together comes back at different times; default 0. */
  readonly jitter?: number;
}

/** Milliseconds to wait after the nth failure in a row (1, 2, …). `random` is in [0, 1); 0 is for the whole pause. */
export function backoffMs(
  { firstMs, longestMs, jitter = 0 }: Backoff,
  failures: number,
  random = 0,
): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1)) * (1 - jitter * random);
}
