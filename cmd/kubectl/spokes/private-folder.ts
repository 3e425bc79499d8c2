import { rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { HubConfig } from "../../../access/hub/kubeconfig.ts";

/** A folder that only its owner can read. It is removed by the disposal, and when the process ends. */
export interface PrivateFolder extends AsyncDisposable {
  readonly path: string;
  /** Writes a file that only its owner can read. Returns its path. */
  write(name: string, text: string): Promise<string>;
}

/** Creates a private folder. Spec: security.md T-86. */
export async function makePrivateFolder(): Promise<PrivateFolder> {
  // mkdtemp creates the folder with mode 0700.
  const folder = await mkdtemp(join(tmpdir(), "kubectl-knfleet-"));
  const removeNow = (): void => rmSync(folder, { recursive: true, force: true });
  // A second Ctrl-C ends the process without disposal.
  process.once("exit", removeNow);
  // A closed terminal ends the process without disposal and without `exit`, unless there is another listener.
  const onHangup = (): void => {
    removeNow();
    process.off("SIGHUP", onHangup);
    if (process.listenerCount("SIGHUP") === 0) process.kill(process.pid, "SIGHUP");
  };
  process.on("SIGHUP", onHangup);
  return {
    path: folder,
    async write(name, text) {
      const path = join(folder, name);
      await writeFile(path, text, { mode: 0o600, flag: "wx" });
      return path;
    },
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true });
      process.off("exit", removeNow);
      process.off("SIGHUP", onHangup);
    },
  };
}

/** A kubeconfig file for exec plugins, removed by the disposal. */
export interface PluginKubeconfig extends AsyncDisposable {
  readonly path: string;
}

/**
 * Writes only the hub's context into a private temporary file. The official plugins read `KUBECONFIG` as one path and know neither `--context` nor
 * `--kubeconfig`: without this file they would use another cluster or namespace than the command (cli.md, D10). The file is as private as the user's own
 * kubeconfig.
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
