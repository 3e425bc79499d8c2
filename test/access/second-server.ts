import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { onTestFinished } from "vitest";

import type { Cluster } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { freePort } from "../fleet/ports.ts";

/** Starts a second API server on the store of a cluster, until the end of the test; returns its port before it is ready. */
export async function startSecondServer(cluster: Cluster): Promise<number> {
  const port = await freePort();
  const child = startLike(cluster, port);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  return port;
}

/** The API server's process of a cluster. */
export function apiServerOf({ pids }: Cluster): number | undefined {
  return pids.find((pid) => argumentsOf(pid)[0]?.endsWith("kube-apiserver"));
}

function startLike(cluster: Cluster, port: number): ChildProcess {
  const pid = apiServerOf(cluster);
  if (pid === undefined) throw new Error("The cluster has no kube-apiserver");
  const [command = "", ...args] = argumentsOf(pid);
  const changed = args.map((arg) =>
    arg
      .replace(/^--secure-port=.*/, `--secure-port=${port}`)
      .replace(/^--audit-log-path=.*/, "--audit-log-path=second-audit.log"),
  );
  return spawn(command, changed, { cwd: cluster.folder, stdio: "ignore" });
}

function argumentsOf(pid: number): readonly string[] {
  const { stdout } = spawnSync("ps", ["-ww", "-o", "args=", "-p", String(pid)], {
    encoding: "utf8",
  });
  return stdout.trim().split(" ");
}

/** Makes the store of a cluster forget all versions but the newest, as it does of those that are five minutes old. */
export async function forgetVersions(cluster: Cluster): Promise<void> {
  const found: unknown = JSON.parse(await askStore(cluster, "range", { key: "Lw==" }));
  const revision = valueAt(found, "header", "revision");
  await askStore(cluster, "compaction", { revision, physical: true });
}

function askStore({ folder }: Cluster, what: string, body: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      socketPath: join(folder, "etcd.sock:0"),
      path: `/v3/kv/${what}`,
      method: "POST",
    };
    const asked = request(options, (answer) => resolve(text(answer)));
    asked.on("error", reject);
    asked.end(JSON.stringify(body));
  });
}
