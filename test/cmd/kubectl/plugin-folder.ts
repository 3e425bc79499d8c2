import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { knfleetFile } from "./run-knfleet.ts";

/** Puts the plugin into a folder for the PATH, and returns a PATH that begins with it. */
export async function pathWithPlugin(folder: string): Promise<string> {
  const plugin = join(folder, "kubectl-knfleet");
  await writeFile(plugin, `#!/bin/sh\nexec "${process.execPath}" "${knfleetFile}" "$@"\n`);
  await chmod(plugin, 0o755);
  return `${folder}:${process.env["PATH"] ?? ""}`;
}
