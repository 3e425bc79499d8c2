const defaultMs = 10_000;
const marginMs = 500;
const leastMs = 100;
const mostMs = 30_000;

const unitMs = { ms: 1, s: 1_000, m: 60_000 } as const;

/**
 * Milliseconds in which a review has to be answered: the `timeout` that the API server sends (`5s`), less half a second for the way
 * back. Without one, or with one that cannot be read, that of the API's default of 10 s. Security: T-74.
 */
export function deadlineMsOf(timeout: unknown): number {
  const [, digits = "", unit = ""] =
    typeof timeout === "string" ? (/^(\d{1,6}(?:\.\d{1,3})?)(ms|s|m)$/.exec(timeout) ?? []) : [];
  const factor = Object.entries(unitMs).find(([name]) => name === unit)?.[1];
  const wantedMs = factor === undefined ? defaultMs : Number(digits) * factor;
  return Math.min(mostMs, Math.max(leastMs, wantedMs - marginMs));
}
