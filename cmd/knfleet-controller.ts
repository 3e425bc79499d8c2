#!/usr/bin/env node
import { randomUUID } from "node:crypto";
import { enableCompileCache } from "node:module";
import { hostname } from "node:os";

import { systemClock as clock } from "../access/time/system-clock.ts";
import packageJson from "../package.json" with { type: "json" };
import { readControllerFlags } from "./service/flags.ts";
import { createLogger } from "./service/logger.ts";
import { runService } from "./service/run.ts";

// Halves the start time when the sources run without a build.
enableCompileCache();

const { version } = packageJson;
const flags = readControllerFlags(process.argv.slice(2), version);

if ("exitCode" in flags) {
  (flags.exitCode === 0 ? process.stdout : process.stderr).write(flags.text);
  process.exitCode = flags.exitCode;
} else {
  const log = createLogger({ level: flags.logLevel, format: flags.logFormat }, process.stdout);
  const { env: environment } = process;
  const identity = `${hostname()}_${randomUUID()}`;
  await runService(async (signal) => {
    // Loaded on demand: `--help` and wrong flags do not need it.
    const { startControllerService } = await import("./service/controller-service.ts");
    return startControllerService(flags, { environment, version, identity, log, clock }, signal);
  }, log);
}
