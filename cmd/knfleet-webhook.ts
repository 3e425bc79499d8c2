#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";

import packageJson from "../package.json" with { type: "json" };
import { createLogger } from "./service/logger.ts";
import { runService } from "./service/run.ts";
import { readWebhookFlags } from "./service/webhook-flags.ts";

// The heap grows less than V8 would let it.
setFlagsFromString("--optimize-for-size");
// As in knfleet-controller.ts: a start that takes half the time.
enableCompileCache();

const { version } = packageJson;
const flags = readWebhookFlags(process.argv.slice(2), version);
// What is left to do after the drain: the last answers, two seconds at most, and closing the way to the hub.
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
