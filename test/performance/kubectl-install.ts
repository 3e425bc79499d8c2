import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";

import { scratch, type Subject, type Workbench } from "./workbench.ts";

/** One `kubectl apply --server-side` of everything. */
export interface KubectlRun {
  readonly appliedMs: number;
  /** How many of the objects it could not apply in this one run. */
  readonly refused: number;
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

const userAgent = "kubectl/";

/**
 * Applies the subject's manifests with the real kubectl, through the same proxy and as the same ServiceAccount as the
 * controller. Its discovery of the built-in kinds is cached already, as on the machine of somebody who uses it.
 */
export async function installWithKubectl(bench: Workbench, subject: Subject): Promise<KubectlRun> {
  const { fleet } = bench;
  const file = scratch(fleet, `${subject.name}.json`);
  await writeFile(
    file,
    JSON.stringify({ apiVersion: "v1", kind: "List", items: subject.manifests }),
  );
  const kubeconfig = await subject.spoke.writeKubeconfig("bench.kubeconfig", {
    identity: { token: await subject.profile.renew() },
    server: subject.spoke.proxy.url,
  });
  const common = ["--kubeconfig", kubeconfig, "--cache-dir", scratch(fleet, "kubectl-cache")];
  await runKubectl(bench.kubectl, [...common, "api-resources"]);
  const since = new Date();
  subject.spoke.proxy.resetCounts();
  const startedAt = performance.now();
  const lines = await runKubectl(bench.kubectl, [
    ...common,
    "apply",
    "--server-side",
    "--force-conflicts",
    "-f",
    file,
  ]);
  const appliedMs = performance.now() - startedAt;
  const { bytesUp, bytesDown } = subject.spoke.proxy.counts;
  const requests = await subject.spoke.auditLog.requests({ userAgent, since });
  return {
    appliedMs,
    refused:
      subject.manifests.length - lines.filter((line) => line.endsWith("serverside-applied")).length,
    requests: requests.length,
    sentBytes: bytesUp,
    receivedBytes: bytesDown,
  };
}

/** Runs kubectl to its end; the lines that it printed. */
export async function runKubectl(
  program: string,
  args: readonly string[],
): Promise<readonly string[]> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(child, "close");
  return Buffer.concat(chunks).toString("utf8").split("\n").filter(Boolean);
}
