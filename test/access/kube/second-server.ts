import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";

import { onTestFinished } from "vitest";

import type { Cluster } from "../../fleet/fleet.ts";
import { freePort } from "../../fleet/ports.ts";

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
