import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";

import { refusedPlugin } from "../../access/plugins/plugin-policy.ts";
import type { Provider } from "../../access/providers/provider-config.ts";

/** Why the plugin of a provider cannot be run here, by the rules of the controller; undefined when it can. Runs nothing. */
export async function pluginProblemOf(
  { name, exec }: Provider,
  roots: readonly string[],
): Promise<string | undefined> {
  if (exec === undefined || exec.command.startsWith("builtin:")) return undefined;
  const plugin = `the plugin of provider ${JSON.stringify(name.slice(0, 64))}`;
  try {
    const file = await realpath(exec.command);
    await access(file, constants.X_OK);
    // Not its digest: that is looked at when it is run.
    const refused = await refusedPlugin(file, { roots }, undefined);
    return refused === undefined ? undefined : `${plugin} cannot be run: ${refused}`;
  } catch {
    return `${plugin} is missing, or cannot be executed`;
  }
}
