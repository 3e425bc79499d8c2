import { join } from "node:path";

import { openAdminClient, type AdminClient } from "./admin-client.ts";
import { startApiServer, type ApiServer, type ServerBeside } from "./api-server.ts";
import { openAuditLog, type AuditLog } from "./audit-log.ts";
import type { ServerBinary } from "./binary-catalogue.ts";
import type { KeyPair } from "./certificates.ts";
import { writeClusterFiles, type ClusterFiles } from "./cluster-files.ts";
import { startCompanions, type Companions } from "./companions.ts";
import type { ServerPlan } from "./control-plane.ts";
import { startDelayProxy, type DelayProxy } from "./delay-proxy.ts";
import { startEgressProxy, type EgressProxy } from "./egress-proxy.ts";
import { valueAt } from "./json-record.ts";
import { kubeconfigOf, writeKubeconfig, type KubeconfigEntry } from "./kubeconfig.ts";
import { requestToken, type ServiceAccountToken, type TokenOptions } from "./service-accounts.ts";
import type { Watchdog } from "./watchdog.ts";

/** A Kubernetes minor that the fleet can run. */
export type KubernetesMinor = "1.36" | "1.35";

/** How one cluster of a fleet is to be. */
export interface ClusterOptions {
  /** Minor version of the control plane. Default `1.36`. */
  readonly kubernetes?: KubernetesMinor;
  /** Default `hub`, `spoke-1`, `spoke-2`, … */
  readonly name?: string;
  /** Two fake nodes on which pods become ready at once. False: no node, nothing ever becomes ready. Default true. */
  readonly kwok?: boolean;
  /** Whether webhook configurations take effect. Default: on the hub, not on spokes. */
  readonly admissionWebhooks?: boolean;
  /** Round-trip time of `proxy`. Default 0. */
  readonly rttMs?: number;
  /** Lets the API server reach webhooks by their Service, through `egress`. Default false. */
  readonly egress?: boolean;
  /** Further flags of kube-apiserver. */
  readonly apiServerFlags?: readonly string[];
}

/** A cluster of a fleet, and what it has before anybody uses it. */
export interface ClusterPlan extends ClusterOptions {
  readonly name: string;
  readonly role: "hub" | "spoke";
  prepare(cluster: Cluster): Promise<void>;
}

/** A real control plane on this machine. */
export interface Cluster extends AsyncDisposable {
  readonly name: string;
  /** `https://127.0.0.1:<port>` of the API server itself; `proxy.url` is the same server through the proxy. */
  readonly server: string;
  readonly caPem: string;
  /** Client certificate of `system:masters`. */
  readonly adminIdentity: KeyPair;
  readonly adminKubeconfigPath: string;
  readonly admin: AdminClient;
  readonly auditLog: AuditLog;
  readonly proxy: DelayProxy;
  /** Present when the cluster was started with `egress`. */
  readonly egress: EgressProxy | undefined;
  /** Folder with the logs of the servers. */
  readonly folder: string;
  /** Process ids of the servers that run now, in the order of their start. */
  readonly pids: readonly number[];
  /** Freezes the API server (SIGSTOP): connections stay, nothing is answered. */
  pause(): void;
  resume(): void;
  /** Ends the API server, by default at once (SIGKILL); SIGTERM drains first, up to a minute while watches are open. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Starts the API server again on the same port, perhaps from the program of another version, and waits until it is ready. */
  start(program?: string): Promise<void>;
  /** Copies what the cluster has stored; the answer puts that back, as the restoration of a backup does, and starts all servers again. */
  backUp(): Promise<() => Promise<void>>;
  /** Starts another API server on the same etcd, as a control plane of several has. */
  startBeside(): Promise<ServerBeside>;
  serviceAccountToken(options: TokenOptions): Promise<ServiceAccountToken>;
  /** A new client certificate; the groups are those of Kubernetes. */
  clientCertificate(user: string, groups: readonly string[]): KeyPair;
  /** A kubeconfig for this cluster, as text. */
  kubeconfig(access: Access): string;
  /** Writes a kubeconfig into the cluster's folder and returns its path. */
  writeKubeconfig(file: string, access: Access): Promise<string>;
  /** Sends the API server's calls to a Service, which must exist, to a loopback port. Needs `egress`. */
  routeService(
    service: { readonly namespace: string; readonly name: string },
    localPort: number,
  ): Promise<void>;
}

/** Who comes, and by which way; `server` is the direct address unless given. */
export type Access = Pick<KubeconfigEntry, "identity" | "namespace"> & { readonly server?: string };

/** What all clusters of a fleet share. */
export interface ClusterDeps {
  readonly watchdog: Watchdog;
  readonly binary: (name: ServerBinary) => string;
  /** Told when a server of a started cluster ends by itself. */
  readonly log: (line: string) => void;
}

/** Servers of one cluster, which end when they are disposed. */
export interface ClusterServers extends AsyncDisposable {
  readonly apiServer: ApiServer;
  readonly companions: Companions;
  readonly egress: EgressProxy | undefined;
  readonly files: ClusterFiles;
}

/** How a cluster is seen by who uses it. */
export interface ClusterView {
  readonly name: string;
  /** Kubeconfigs are written here. */
  readonly folder: string;
  readonly rttMs?: number;
  /** The audit log begins here; absent: with the first request. */
  readonly since?: Date;
  /** Whether its disposal ends the servers, too. Default false. */
  readonly endsServers?: boolean;
  /** Called before a server is frozen, stopped or replaced. */
  readonly onHarm?: () => void;
}

/** Starts a control plane in a folder of its own and waits until its API server, and its nodes if any, are ready. */
export async function startCluster(
  options: ClusterOptions & { readonly name: string; readonly folder: string },
  deps: ClusterDeps,
): Promise<Cluster> {
  const servers = await startServers(options, deps);
  return openCluster(servers, { ...options, endsServers: true });
}

/** Starts the servers of a cluster and waits until the API server, and its nodes if any, are ready. */
export async function startServers(
  options: ClusterOptions & { readonly name: string; readonly folder: string },
  deps: ClusterDeps,
): Promise<ClusterServers> {
  const { name, kwok = true, egress: wantsEgress = false } = options;
  await using undo = new AsyncDisposableStack();
  const files = await writeClusterFiles(options.folder, name, { egress: wantsEgress });
  const egress = wantsEgress ? undo.use(await startEgressProxy(files.egressSocket)) : undefined;
  const draft: Omit<ServerPlan, "port"> = {
    name,
    files,
    binary: deps.binary,
    admissionWebhooks: options.admissionWebhooks ?? false,
    egress: wantsEgress,
    apiServerFlags: options.apiServerFlags ?? [],
  };
  const apiServer = await startApiServer(draft, deps);
  undo.defer(() => apiServer.shutDown());
  const companions = undo.use(await startCompanions(apiServer, deps, { kwok }));
  const running = undo.move();
  return {
    apiServer,
    companions,
    egress,
    files,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Process ids of the servers that run now, in the order of their start. */
export function pidsOf({ apiServer, companions }: ClusterServers): readonly number[] {
  return [...apiServer.pids, ...companions.pids];
}

/** A cluster over servers that run already, with a proxy of its own. */
export async function openCluster(servers: ClusterServers, view: ClusterView): Promise<Cluster> {
  const { apiServer, companions, egress, files } = servers;
  const { name, folder, rttMs = 0, since, endsServers = false, onHarm = () => undefined } = view;
  await using undo = new AsyncDisposableStack();
  if (endsServers) undo.use(servers);
  const entry = accessOf({ name, url: apiServer.url, files });
  const kubeconfigAt = (file: string, access: Access): Promise<string> =>
    writeKubeconfig(join(folder, file), entry(access));
  const adminKubeconfigPath = await kubeconfigAt("admin.kubeconfig", { identity: files.admin });
  const proxy = undo.use(await startDelayProxy(apiServer.plan.port, { rttMs }));
  const admin = openAdminClient(apiServer.url, files.authority.certificatePem, files.admin);
  undo.defer(() => admin.close());
  const open = undo.move();
  return {
    name,
    server: apiServer.url,
    caPem: files.authority.certificatePem,
    adminIdentity: files.admin,
    adminKubeconfigPath,
    admin,
    auditLog: openAuditLog(files.auditLog, (path) => admin.request("GET", path), since),
    proxy,
    egress,
    folder: files.folder,
    get pids() {
      return pidsOf(servers);
    },
    pause() {
      onHarm();
      apiServer.pause();
    },
    resume: () => apiServer.resume(),
    stop(signal) {
      onHarm();
      return apiServer.stop(signal);
    },
    start(program) {
      onHarm();
      return apiServer.start(program);
    },
    async backUp() {
      onHarm();
      const copy = await apiServer.backUp();
      return async () => {
        // They know too much, as every program does that goes on over a restoration.
        await companions.stop();
        await apiServer.restore(copy);
        await companions.start();
      };
    },
    startBeside() {
      onHarm();
      return apiServer.beside();
    },
    serviceAccountToken: (options) => requestToken(admin, options),
    clientCertificate: (commonName, organizations) =>
      files.authority.issue({ commonName, organizations, usage: "client" }),
    kubeconfig: (access) => kubeconfigOf(entry(access)),
    writeKubeconfig: kubeconfigAt,
    async routeService({ namespace, name: service }, localPort) {
      if (egress === undefined) throw new Error("The cluster was started without `egress`");
      const object = await admin.get({
        apiVersion: "v1",
        kind: "Service",
        namespace,
        name: service,
      });
      const address = valueAt(object, "spec", "clusterIP");
      if (typeof address !== "string") {
        throw new Error(`Service ${namespace}/${service} does not exist or has no ClusterIP`);
      }
      egress.route(address, localPort);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function accessOf(cluster: {
  readonly name: string;
  readonly url: string;
  readonly files: ClusterFiles;
}): (access: Access) => KubeconfigEntry {
  return ({ identity, namespace, server = cluster.url }) => ({
    name: cluster.name,
    server,
    caPem: cluster.files.authority.certificatePem,
    identity,
    ...(namespace === undefined ? {} : { namespace }),
  });
}
