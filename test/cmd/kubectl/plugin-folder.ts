import { chmod, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { ensureBinaries } from "../../fleet/binaries.ts";
import { knfleetFile, runKnfleet, type Ran, type RunOptions } from "./run-knfleet.ts";

/** Puts the plugin into a folder for the PATH, and returns a PATH that begins with it. */
export async function pathWithPlugin(folder: string): Promise<string> {
  const plugin = join(folder, "kubectl-knfleet");
  await writeFile(plugin, `#!/bin/sh\nexec "${process.execPath}" "${knfleetFile}" "$@"\n`);
  await chmod(plugin, 0o755);
  return `${folder}:${process.env["PATH"] ?? ""}`;
}

/** The same with a program that was built, as a package manager links it. */
export async function pathWithProgram(folder: string, program: string): Promise<string> {
  await symlink(program, join(folder, "kubectl-knfleet"));
  // The program names its interpreter by `env`.
  return [folder, dirname(process.execPath), process.env["PATH"] ?? ""].join(":");
}

/** Runs a command line that begins behind `kubectl`, for example `["knfleet", "status"]`. */
export type Kubectl = (line: readonly string[], options?: RunOptions) => Promise<Ran>;

/** The real kubectl as a person types it, or another `command` in its place, with that kubectl and what else is on a PATH. */
export async function kubectlWith(PATH: string): Promise<Kubectl> {
  const command = (await ensureBinaries(["kubectl"]))("kubectl");
  const path = `${dirname(command)}:${PATH}`;
  return (line, options = {}) =>
    runKnfleet(line, { command, ...options, env: { PATH: path, ...patience, ...options.env } });
}

/** What a busy machine needs; what a command line says itself wins. */
export const patience = {
  KNFLEET_SPOKE_TIMEOUT: "50s",
  KNFLEET_REQUEST_TIMEOUT: "50s",
};
