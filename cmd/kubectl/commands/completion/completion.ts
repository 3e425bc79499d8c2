import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";

import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Answer } from "../../main/report.ts";

const fileName = "kubectl_complete-knfleet";

/** The program that kubectl runs for completion, or where it was installed. Throws UsageError. */
export async function completionProgram({ args, env }: Fleet, replace: boolean): Promise<Answer> {
  const [what = "", ...more] = args;
  if (more.length > 0 || !["kubectl", "install"].includes(what)) {
    throw new UsageError(`There is no completion for "${args.join(" ")}": want kubectl, install`);
  }
  return { text: what === "install" ? `${await install(env, replace)}\n` : script };
}

/** Writes the file beside the plugin that is first on the PATH, and returns where. Throws UsageError. */
async function install(env: Fleet["env"], replace: boolean): Promise<string> {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const plugins = folders.map((folder) => join(folder, "kubectl-knfleet"));
  const found = await Promise.all(plugins.map(isFile));
  const plugin = plugins.find((_, at) => found[at] === true);
  if (plugin === undefined) {
    throw new UsageError("kubectl-knfleet is in no folder of the PATH", [
      `Write it by hand into a folder of the PATH: kubectl knfleet completion kubectl > FOLDER/${fileName}`,
    ]);
  }
  const path = join(dirname(plugin), fileName);
  const present = await readFile(path, "utf8").catch(() => undefined);
  if (present !== undefined && present !== script && !replace) {
    throw new UsageError(`${path} is there and is something else; replace it with --yes`);
  }
  await writeFile(path, script);
  await chmod(path, 0o755);
  return path;
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true;
}

/** The program that kubectl runs for completion. */
const script = `#!/bin/sh
# Run by kubectl to complete "kubectl knfleet ...".
exec kubectl-knfleet __complete "$@"
`;
