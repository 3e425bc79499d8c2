import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { conditionOf } from "../../fleet/json-record.ts";

/** A server that takes connections and never says a word. */
export async function startBlackHole(): Promise<Server> {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Writes a provider file with the built-in reader of kubeconfigs. */
export async function writeProviders(folder: string): Promise<string> {
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "builtin:kubeconfig-secretreader",
    provideClusterInfo: true,
  };
  const file = join(folder, "discovery-providers.json");
  const providers = [{ name: "kubeconfig-secretreader", execConfig }];
  await writeFile(file, JSON.stringify({ providers }));
  return file;
}

/** Status and reason of ControlPlaneHealthy. */
export function healthOf(profile: KubeObject | undefined): string {
  const { status, reason } = { ...conditionOf(profile, "ControlPlaneHealthy") };
  return `${String(status)} ${String(reason)}`;
}

/** A condition by which Cluster API tells whether it reaches a cluster. */
export function probe(status: string, reason: string): object {
  const lastTransitionTime = "2026-11-01T00:00:00Z";
  return { type: "RemoteConnectionProbe", status, reason, message: "", lastTransitionTime };
}
