import { setTimeout as delay } from "node:timers/promises";

import { kubeconfigThrough } from "../faults/fault-bench.ts";
import { startFaultProxy } from "../faults/fault-proxy.ts";
import { WriteLog } from "../faults/write-log.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { ControllerProcess, type ControllerProcessOptions } from "../support/controller-process.ts";

// An install by works has some ten writes.
const mostLives = 40;

/**
 * Runs controllers one after the other, each of which is killed as soon as the hub has answered its first write, Events apart, until `isDone`. So there is a crash after every write.
 * Returns the writes, as `PATCH path`. Throws when they come to no end.
 */
export async function runOneWriteLives(
  fleet: Fleet,
  options: ControllerProcessOptions,
  isDone: () => Promise<boolean>,
): Promise<readonly string[]> {
  const { name: cluster, server, caPem } = fleet.hub;
  const log = new WriteLog();
  await using proxy = await startFaultProxy({ cluster, server, caPem, log });
  const kubeconfig = await kubeconfigThrough(proxy, fleet);
  const writes: string[] = [];
  for (let life = 1; life <= mostLives; life += 1) {
    await using controller = new ControllerProcess({ ...options, kubeconfig });
    log.restart({
      write: 1,
      isMeant: ({ path }) => !path.includes("/events"),
      side: "after",
      kill: () => controller.signal("SIGKILL"),
    });
    while (controller.isRunning && !(await isDone())) await delay(100);
    const { struck } = log;
    if (struck === undefined) return writes;
    writes.push(`${struck.method} ${struck.path.replace(/\?.*/, "")}`);
    await controller.exited;
    proxy.cut();
    if (await isDone()) return writes;
  }
  throw new Error(`${mostLives} controllers came to no end: ${writes.join(", ")}`);
}
