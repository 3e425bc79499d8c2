#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";

import packageJson from "../package.json" with { type: "json" };
import { createLogger } from "./service/logger.ts";
import { runService } from "./service/run.ts";
import { readWebhookFlags } from "./service/webhook-flags.ts";

// Limits the growth of the heap.
setFlagsFromString("--optimize-for-size");
// Halves the start time, as in knfleet-controller.ts.
enableCompileCache();

const { version } = packageJson;
const flags = readWebhookFlags(process.argv.slice(2), version);
// Time after the drain for the last answers, at most two seconds, and for closing the connection to the hub.
const closeLimitMs = 8_000;

if ("exitCode" in flags) {
  (flags.exitCode === 0 ? process.stdout : process.stderr).write(flags.text);
  process.exitCode = flags.exitCode;
} else {
  const log = createLogger({ level: flags.logLevel, format: flags.logFormat }, process.stdout);
  const { env: environment } = process;
  const start = async (signal: AbortSignal) => {
    const { startWebhookService } = await import("./service/webhook-service.ts");
    return startWebhookService(flags, { environment, version, log }, signal);
  };
  await runService(start, log, flags.drainPeriod + closeLimitMs);
}
