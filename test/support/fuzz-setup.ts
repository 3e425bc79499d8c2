import { env } from "node:process";

import { seed } from "./fuzz.ts";

// Before each test file: with KNFLEET_SEED every random test takes the same inputs each time, so that a change is judged by what it changes.
if (env["KNFLEET_SEED"] !== undefined) {
  const { configureGlobal } = await import("fast-check");
  configureGlobal({ seed });
}
