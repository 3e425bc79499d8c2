import { env } from "node:process";

const share = Number(env["KNFLEET_FUZZ_SHARE"] ?? 0.1);

/** The random inputs of a test follow from it: KNFLEET_SEED, or another number each time. */
export const seed = Number(env["KNFLEET_SEED"] ?? Date.now() % 1_000_000);

/** Whether all random inputs are tried: KNFLEET_FUZZ_SHARE is 1. */
export const isWhole = share >= 1;

/** How many random inputs a test tries: `whole` when KNFLEET_FUZZ_SHARE is 1, a tenth of it by default, and never fewer than `least`. */
export function runsOf(whole: number, least = 1): number {
  return Math.max(least, Math.round(whole * share));
}
