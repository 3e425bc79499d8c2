import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";

import type { ActionInput } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Terminal } from "../../output/terminal.ts";

/** Flags of `completion` alone. */
interface CompletionFlags {
  readonly yes?: boolean;
}

const fileName = "kubectl_complete-knfleet";

/** `kubectl knfleet completion`. */
export async function runCompletion({
  args,
  options,
  terminal,
}: ActionInput<CompletionFlags>): Promise<ExitCode> {
  const [what = "", ...more] = args;
  if (more.length > 0 || !["kubectl", "install"].includes(what)) {
    throw new UsageError(`There is no completion for "${args.join(" ")}": want kubectl, install`);
  }
  const isInstalled = what === "install";
  const text = isInstalled ? `${await install(terminal, options.yes === true)}\n` : script;
  terminal.stdout.write(text);
  return exitCodes.fine;
}

/** Writes the file beside the plugin that is first on the PATH, and returns where. Throws UsageError. */
async function install({ env }: Terminal, replace: boolean): Promise<string> {
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
