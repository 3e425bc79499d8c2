import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { ensureBinaries, ensureModuleFiles } from "../binaries.ts";
import type { Cluster } from "../cluster.ts";
import { startRelay, type Relay } from "../relay.ts";
import { startPod, type PodOptions, type PodPort } from "./pod.ts";
import type { ProgramDeps } from "./programs.ts";

// Not the same one: both charts bring a ManagedClusterSetBinding `global`.
const namespaces = {
  "cluster-proxy": "open-cluster-management-addon",
  "managed-serviceaccount": "open-cluster-management-managed-serviceaccount",
} as const;
const examples = join(import.meta.dirname, "../../../docs/examples/ocm");
const proxyNamespace = namespaces["cluster-proxy"];
const accessName = `cluster-proxy-addon-user.${proxyNamespace}`;

/** cluster-proxy and managed-serviceaccount on a hub. Disposing ends what runs of them, on the spokes too. */
export interface Addons extends AsyncDisposable {
  /** Line of a hosts file that leads the server of OCM's ClusterProfiles to its user server. */
  readonly hostsLine: string;
  /** How many connections came to the user server so far. */
  readonly connections: number;
  /** Starts the pods of a spoke that the addons delivered to it: the end of the tunnel, and the agent that makes tokens. */
  startOn(spoke: Cluster): Promise<SpokeAddons>;
}

/** The addons of one spoke. */
export interface SpokeAddons {
  /** Ends the pod at the spoke's end of the tunnel. */
  stopTunnel(): Promise<void>;
  /** Starts it again. */
  startTunnel(): Promise<void>;
}

/** Installs the charts of both addons with the values of docs/examples/ocm, and plays their pods on the hub. */
export async function startAddons(hub: Cluster, deps: ProgramDeps): Promise<Addons> {
  await Promise.all([
    installChart(hub, "cluster-proxy", ["proxyServer.entrypointAddress=127.0.0.1"]),
    installChart(hub, "managed-serviceaccount"),
  ]);
  await using undo = new AsyncDisposableStack();
  const running = undo.use(new AsyncDisposableStack());
  const apiSocketOf = async (cluster: Cluster): Promise<string> => {
    const path = join(deps.folder, `${cluster.name}.sock`);
    running.use(await startRelay(() => addressOf(cluster), { path }));
    return path;
  };
  const hubSocket = await apiSocketOf(hub);
  const proxyPort: PodPort = [8090, join(deps.folder, "proxy.sock")];
  const agentPort: PodPort = [8091, join(deps.folder, "agents.sock")];
  const userPort: PodPort = [9092, join(deps.folder, "users.sock")];
  const play = async (options: Omit<PodOptions, "cluster" | "apiSocket">) => {
    const hosts = [`proxy-entrypoint.${proxyNamespace}.svc`];
    const pod = { cluster: hub, apiSocket: hubSocket, hosts, ...options };
    running.use(await startPod(pod, deps));
  };
  await Promise.all([
    play({
      deployment: {
        namespace: namespaces["managed-serviceaccount"],
        name: "managed-serviceaccount-addon-manager",
      },
    }),
    play(proxyPod("cluster-proxy-addon-manager")),
    play({ ...proxyPod("cluster-proxy"), offers: [proxyPort, agentPort] }),
    play({ ...proxyPod("cluster-proxy-addon-user"), reaches: [proxyPort], offers: [userPort] }),
  ]);
  const entrance = await openEntrance(userPort, running);
  const reaches: readonly PodPort[] = [[addressOf(hub).port, hubSocket], agentPort];
  undo.move();
  return {
    hostsLine: `${entrance.host} ${accessName}`,
    get connections() {
      return entrance.relay.connections;
    },
    async startOn(spoke) {
      const apiSocket = await apiSocketOf(spoke);
      const start = (namespace: string, name: string) =>
        startPod({ cluster: spoke, deployment: { namespace, name }, apiSocket, reaches }, deps);
      const startTunnel = () =>
        start("open-cluster-management-cluster-proxy", "cluster-proxy-proxy-agent");
      let tunnel = await startTunnel();
      running.defer(() => tunnel[Symbol.asyncDispose]());
      running.use(
        await start("open-cluster-management-agent-addon", "managed-serviceaccount-addon-agent"),
      );
      return {
        async stopTunnel() {
          await tunnel[Symbol.asyncDispose]();
        },
        async startTunnel() {
          tunnel = await startTunnel();
        },
      };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function proxyPod(name: string): Pick<PodOptions, "deployment"> {
  return { deployment: { namespace: proxyNamespace, name } };
}

function addressOf({ server }: Cluster): { readonly host: string; readonly port: number } {
  const { hostname: host, port } = new URL(server);
  return { host, port: Number(port) };
}

/** Opens a loopback address on the port that OCM writes into its ClusterProfiles; each hub has one of its own. */
async function openEntrance(
  [port, path]: PodPort,
  running: AsyncDisposableStack,
): Promise<{ readonly host: string; readonly relay: Relay }> {
  const [low, high] = [process.pid & 255, (process.pid >> 8) & 127];
  for (let third = 1; ; third += 1) {
    const host = `127.${third}.${high}.${low}`;
    try {
      return { host, relay: running.use(await startRelay(() => ({ path }), { host, port })) };
    } catch (error) {
      if (third > 250) throw error;
    }
  }
}

async function installChart(
  hub: Cluster,
  name: "cluster-proxy" | "managed-serviceaccount",
  settings: readonly string[] = [],
): Promise<void> {
  const binary = await ensureBinaries(["helm"]);
  const chart = await ensureModuleFiles(`${name}-chart`);
  const place = ["--namespace", namespaces[name], "--create-namespace"];
  const values = ["--values", join(examples, `${name}-values.yaml`)];
  const args = [
    "install",
    name,
    chart,
    "--kubeconfig",
    hub.adminKubeconfigPath,
    // The chart of cluster-proxy has fields that its CRDs do not know.
    "--server-side=false",
    ...place,
    ...values,
    ...settings.flatMap((setting) => ["--set", setting]),
  ];
  const home = join(hub.folder, "helm");
  const env = { PATH: process.env["PATH"] ?? "", HOME: home };
  await promisify(execFile)(binary("helm"), args, { env });
}
