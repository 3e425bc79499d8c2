#!/usr/bin/env node
import { enableCompileCache } from "node:module";

import { runCommand } from "./run.ts";

enableCompileCache();

await runCommand(async (signal) => {
  const { runCli } = await import("./kubectl/cli.ts");
  const { env, stdout, stderr } = process;
  const args = process.argv.slice(2);
  const terminal = {
    args,
    env,
    stdout,
    stderr,
    now: () => new Date(),
    // Opened only by a command that reads it.
    get stdin() {
      return process.stdin;
    },
  };
  return await runCli(terminal, signal);
});
