import { goDurationMs } from "../api/go-duration.ts";

const defaultMs = 10_000;
const marginMs = 500;
const leastMs = 100;
const mostMs = 30_000;
// Longer than any duration that Go writes. Length before pattern, because of F9.
const maxLength = 32;

/**
 * Milliseconds in which a review has to be answered: the `timeout` that the API server sends (`5s`, or `873.094211ms` when less than a second is left
 * of its own), less half a second for the way back. Without one, or with one that cannot be read, that of the API's default of 10 s. Security: T-74.
 */
export function deadlineMsOf(timeout: unknown): number {
  const wantedMs =
    typeof timeout === "string" && timeout.length <= maxLength ? goDurationMs(timeout) : undefined;
  return Math.min(mostMs, Math.max(leastMs, (wantedMs ?? defaultMs) - marginMs));
}
