#!/usr/bin/env node
import { enableCompileCache } from "node:module";

import { runCommand } from "./run.ts";

enableCompileCache();

await runCommand(async (signal) => {
  const { runCli } = await import("./kubectl/cli.ts");
  const { env, stdout, stderr } = process;
  const args = process.argv.slice(2);
  return await runCli({ args, env, stdout, stderr, now: () => new Date() }, signal);
});
