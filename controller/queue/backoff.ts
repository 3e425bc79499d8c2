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
