import { join } from "node:path";

import type { ServerBinary } from "./binary-catalogue.ts";
import type { KeyPair } from "./certificates.ts";
import type { ClusterFiles } from "./cluster-files.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import type { ServerCommand } from "./server-process.ts";

/** What decides how the servers of a cluster are started. */
export interface ServerPlan {
  readonly name: string;
  readonly files: ClusterFiles;
  readonly binary: (name: ServerBinary) => string;
  readonly port: number;
  readonly admissionWebhooks: boolean;
  readonly egress: boolean;
  readonly apiServerFlags: readonly string[];
  /** Default: the socket of etcd. */
  readonly etcdServers?: string;
}

// etcd takes Unix sockets only in the form of a URL with a port; the file is named `etcd.sock:0`. No TCP port, no race for one.
const etcdSocket = "etcd.sock:0";
const etcdUrl = `unix://${etcdSocket}`;
const etcdPeerUrl = "unix://etcd-peer.sock:0";

/** Path of the socket that the etcd of a cluster listens on. */
export function etcdSocketOf({ folder }: { readonly folder: string }): string {
  return join(folder, etcdSocket);
}

/** etcd in memory's spirit: nothing is synced to disk. A lone member is elected after one beat; with few of them it costs half as much at rest. */
export function etcdCommand(plan: ServerPlan): ServerCommand {
  return command(plan, "etcd", [
    "--data-dir=etcd",
    "--unsafe-no-fsync",
    "--heartbeat-interval=500",
    "--election-timeout=2500",
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=${etcdPeerUrl}`,
    `--initial-advertise-peer-urls=${etcdPeerUrl}`,
    `--initial-cluster=default=${etcdPeerUrl}`,
    "--log-level=warn",
  ]);
}

export function apiServerCommand(plan: ServerPlan): ServerCommand {
  return command(plan, "kube-apiserver", [
    `--etcd-servers=${plan.etcdServers ?? etcdUrl}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${plan.port}`,
    "--tls-cert-file=serving.pem",
    "--tls-private-key-file=serving-key.pem",
    "--client-ca-file=ca.pem",
    // Without it the scheduler logs an error every minute.
    "--requestheader-client-ca-file=front-proxy-ca.pem",
    "--service-account-key-file=tokens.pem",
    "--service-account-signing-key-file=tokens-key.pem",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-cluster-ip-range=10.96.0.0/16",
    "--authorization-mode=Node,RBAC",
    "--endpoint-reconciler-type=none",
    "--allow-privileged=true",
    "--profiling=false",
    "--audit-policy-file=audit-policy.yaml",
    "--audit-log-path=audit.log",
    "--audit-log-maxsize=0",
    ...(plan.admissionWebhooks
      ? []
      : ["--disable-admission-plugins=ValidatingAdmissionWebhook,MutatingAdmissionWebhook"]),
    ...(plan.egress ? ["--egress-selector-config-file=egress.yaml"] : []),
    ...plan.apiServerFlags,
  ]);
}

// Volumes, clouds, pod CIDRs and devices have nothing behind them here, and nobody makes what the others look after. The queues of each controller wake up
// twice a second: without these the controller managers of a fleet at rest compute half as much. The protection controllers stay: admission adds their
// finalizers to every claim, and only they take them off again.
const absentControllers = [
  "certificatesigningrequest-cleaner-controller",
  "cloud-node-lifecycle-controller",
  "device-taint-eviction-controller",
  "endpointslice-mirroring-controller",
  "ephemeral-volume-controller",
  "kube-apiserver-serving-clustertrustbundle-publisher-controller",
  "legacy-serviceaccount-token-cleaner-controller",
  "node-ipam-controller",
  "node-route-controller",
  "persistentvolume-attach-detach-controller",
  "persistentvolume-binder-controller",
  "persistentvolume-expander-controller",
  "podcertificaterequest-cleaner-controller",
  "replicationcontroller-controller",
  "resourceclaim-controller",
  "service-cidr-controller",
  "service-lb-controller",
  "storage-version-migrator-controller",
  "storageversion-garbage-collector-controller",
  "taint-eviction-controller",
  "ttl-controller",
  "volumeattributesclass-protection-controller",
];

export async function controllerManagerCommand(plan: ServerPlan): Promise<ServerCommand> {
  const kubeconfig = await writeIdentity(plan, "controller-manager", plan.files.controllerManager);
  return command(plan, "kube-controller-manager", [
    `--kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--profiling=false",
    "--use-service-account-credentials=true",
    // With the default of 20 a cluster is at rest only 6 s after its start.
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    // Else an API server that was away for a minute leaves all pods not ready, which kwok does not mend as a kubelet would.
    "--node-monitor-grace-period=1h",
    "--service-account-private-key-file=tokens-key.pem",
    "--root-ca-file=ca.pem",
    // Signs the certificates of agents that register.
    "--cluster-signing-cert-file=ca.pem",
    "--cluster-signing-key-file=ca-key.pem",
    `--controllers=*,${absentControllers.map((name) => `-${name}`).join(",")}`,
  ]);
}

export async function schedulerCommand(plan: ServerPlan): Promise<ServerCommand> {
  const kubeconfig = await writeIdentity(plan, "scheduler", plan.files.scheduler);
  return command(plan, "kube-scheduler", [
    `--kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--profiling=false",
  ]);
}

export async function kwokCommand(plan: ServerPlan): Promise<ServerCommand> {
  const kubeconfig = await writeIdentity(plan, "kwok", plan.files.kwok);
  return command(plan, "kwok", [
    `--kubeconfig=${kubeconfig}`,
    `--config=${join(import.meta.dirname, "stages.yaml")}`,
    "--manage-all-nodes",
    "--node-lease-duration-seconds=40",
  ]);
}

function command(plan: ServerPlan, binary: ServerBinary, args: readonly string[]): ServerCommand {
  return {
    title: `${plan.name} ${binary}`,
    binary: plan.binary(binary),
    args,
    cwd: plan.files.folder,
    logFile: plan.files.path(`${binary}.log`),
  };
}

function writeIdentity(plan: ServerPlan, name: string, identity: KeyPair): Promise<string> {
  return writeKubeconfig(plan.files.path(`${name}.kubeconfig`), {
    name,
    server: `https://127.0.0.1:${plan.port}`,
    caPem: plan.files.authority.certificatePem,
    identity,
  });
}
