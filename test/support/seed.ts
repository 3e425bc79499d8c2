import { env } from "node:process";

// Before each test file: with KNFLEET_SEED every random test takes the same inputs each time, so that a change is judged by what it changes.
const seed = env["KNFLEET_SEED"];

if (seed !== undefined) {
  const { configureGlobal } = await import("fast-check");
  configureGlobal({ seed: Number(seed) });
}
