import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { HubConfig } from "../../../access/hub/kubeconfig.ts";
import { makePrivateFolder } from "./private-folder.ts";

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
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makePrivateFolder());
  const path = join(folder.path, "config");
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
  await writeFile(path, JSON.stringify(document), { mode: 0o600, flag: "wx" });
  const kept = stack.move();
  return { path, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
