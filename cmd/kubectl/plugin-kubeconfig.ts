import { rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { HubConfig } from "../../access/kubeconfig.ts";

/** A kubeconfig file for exec plugins, gone after disposal. */
export interface PluginKubeconfig extends AsyncDisposable {
  readonly path: string;
}

/**
 * Writes the hub's context alone into a private temporary file. The official plugins read `KUBECONFIG` as one path and
 * know neither `--context` nor `--kubeconfig`, so without this they would ask another cluster, or look in another
 * namespace, than the command does (cli.md, D10). Whoever may read the file could read the user's own kubeconfig.
 */
export async function writePluginKubeconfig(
  { context, namespace, cluster, user }: HubConfig,
  pluginNamespace: string | undefined,
): Promise<PluginKubeconfig> {
  const folder = await mkdtemp(join(tmpdir(), "kubectl-knfleet-"));
  const removeNow = (): void => rmSync(folder, { recursive: true, force: true });
  // A second Ctrl-C ends the process without disposal.
  process.once("exit", removeNow);
  const remove = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true });
    process.off("exit", removeNow);
  };
  const path = join(folder, "config");
  const document = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": context,
    contexts: [
      {
        name: context,
        context: { cluster: "hub", user: "hub", namespace: pluginNamespace ?? namespace },
      },
    ],
    clusters: [{ name: "hub", cluster }],
    users: [{ name: "hub", user }],
  };
  try {
    await writeFile(path, JSON.stringify(document), { mode: 0o600, flag: "wx" });
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}
