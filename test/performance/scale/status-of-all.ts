import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

import { usageOf } from "../process-usage.ts";
import type { Experiment } from "./experiments.ts";
import type { ScaleFleet } from "./scale-fleet.ts";

/** h: `kubectl knfleet status -A`, which asks every spoke. Throws when it does not tell the answer of each. */
export async function askForStatus(scale: ScaleFleet): Promise<Experiment> {
  const { dist, fleet, spokes, providerFile } = scale;
  const args = ["status", "-A", "-o", "json", "--clusterprofile-provider-file", providerFile];
  const startedAt = performance.now();
  const child = spawn(process.execPath, [dist.path("kubectl-knfleet.js"), ...args], {
    env: { HOME: dist.path(".."), KUBECONFIG: fleet.hub.adminKubeconfigPath },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let [residentBytes, cpuMs] = [0, 0];
  const look = async (): Promise<void> => {
    const usage = await usageOf(child.pid ?? 0);
    residentBytes = Math.max(residentBytes, usage.peakResidentBytes);
    ({ cpuMs } = usage);
  };
  // It may have ended meanwhile.
  const watch = setInterval(() => void look().catch(() => undefined), 50);
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  clearInterval(watch);
  const elapsedMs = performance.now() - startedAt;
  const { items } = JSON.parse(output);
  const answered = items.filter((item: { live: { state: string } }) => item.live.state === "Ready");
  if (answered.length !== spokes.length * 2) {
    throw new Error(`${answered.length} of ${spokes.length * 2} rows tell that all is ready`);
  }
  return {
    id: "h",
    title: "kubectl knfleet status -A",
    spokes: spokes.length,
    elapsedMs,
    cpuMs,
    residentBytes,
  };
}
