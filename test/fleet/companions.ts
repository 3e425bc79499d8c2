import { setTimeout as delay } from "node:timers/promises";

import type { Manifest } from "../../api/kubernetes.ts";
import type { AdminClient } from "./admin-client.ts";
import type { ApiServer } from "./api-server.ts";
import { controllerManagerCommand, kwokCommand, schedulerCommand } from "./control-plane.ts";
import { conditionOf } from "./json-record.ts";
import { type LastingServer, startLastingServer } from "./lasting-server.ts";
import type { ServerDeps } from "./server-process.ts";

/** The servers that make a cluster live: controllers, scheduler and fake kubelets. */
export interface Companions extends AsyncDisposable {
  readonly pids: readonly number[];
  stop(): Promise<void>;
  /** Starts them again. */
  start(): Promise<void>;
}

/** Names of the nodes of a cluster that has some. */
export const nodeNames: readonly string[] = ["node-1", "node-2"];
const nodesTimeoutMs = 120_000;

/** Starts them, and with `kwok` two nodes; waits until the nodes are ready. */
export async function startCompanions(
  apiServer: ApiServer,
  deps: ServerDeps,
  { kwok }: { readonly kwok: boolean },
): Promise<Companions> {
  const { plan, admin } = apiServer;
  await using undo = new AsyncDisposableStack();
  const servers: LastingServer[] = [];
  const commands = await Promise.all([
    controllerManagerCommand(plan),
    schedulerCommand(plan),
    ...(kwok ? [kwokCommand(plan)] : []),
  ]);
  const start = async (): Promise<void> => {
    for (const command of commands) servers.push(await startLastingServer(command, deps));
  };
  const stop = async (): Promise<void> => {
    for (const server of servers.splice(0).toReversed()) await server.stop();
  };
  undo.defer(stop);
  await start();
  if (kwok) await bringUpNodes(admin, servers);
  const running = undo.move();
  return {
    get pids() {
      return servers.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    },
    stop,
    start,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function bringUpNodes(admin: AdminClient, servers: readonly LastingServer[]): Promise<void> {
  await Promise.all(nodeNames.map((name) => admin.create(nodeNamed(name))));
  const end = Date.now() + nodesTimeoutMs;
  const failures = servers.map(({ failed }) => failed);
  for (;;) {
    const nodes = await Promise.race([admin.list({ apiVersion: "v1", kind: "Node" }), ...failures]);
    if (nodes.every((node) => conditionOf(node, "Ready")?.status === "True")) return;
    if (Date.now() > end) throw new Error(`Nodes were not ready after ${nodesTimeoutMs / 1000} s`);
    await Promise.race([delay(100), ...failures]);
  }
}

function nodeNamed(name: string): Manifest {
  const labels = {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "amd64",
  };
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels } };
}
