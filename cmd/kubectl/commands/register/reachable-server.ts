import { BlockList, isIP } from "node:net";

import { allowsServer } from "../../../../access/providers/provider-rules.ts";
import type { AccessCluster } from "../../../../api/cluster-profile.ts";
import type { Failure } from "../../output/steps.ts";

/** Why nothing is written. */
export interface Refusal extends Failure {
  /** The chart lacks values, which are printed below. */
  readonly lacksValues?: true;
}

/** What decides under which address the controller reaches the API server of a cluster. */
export interface ServerQuestion {
  /** Context of the kubeconfig that names the cluster. */
  readonly context: string;
  /** The cluster as the kubeconfig has it. */
  readonly cluster: AccessCluster & { readonly server: string };
  /** Addresses of the server's host, as this machine resolves it. Empty: it does not. */
  readonly addresses: readonly string[];
  /** Names of the certificate that the server shows, such as `DNS:eu-1` and `IP Address:10.0.0.1`. Empty: not known. */
  readonly certificateNames: readonly string[];
  /** Address that the user gives in place of the one in the kubeconfig. */
  readonly stated?: string;
  readonly hub: {
    readonly context: string;
    /** Whether the hub's own server is on a loopback address. */
    readonly isLocal: boolean;
    /** Whether a controller runs in a pod of the hub. */
    readonly hasPods: boolean;
    /** What the providers of the hub allow in `allowedServers`. A loopback address among them is meant. */
    readonly allowedServers: readonly string[];
  };
}

/** The cluster with the address for the controller. */
export interface ReachableServer {
  readonly cluster: AccessCluster & { readonly server: string };
  /** Whether the address is the one of the kubeconfig, which this machine reaches. */
  readonly isOfKubeconfig: boolean;
  readonly warnings: readonly string[];
}

/**
 * Decides under which address the controller reaches a cluster. A loopback address is of use only when the controller is no pod. For a cluster of kind or
 * k3d beside a hub of the same tool it is replaced by the name of the cluster's container.
 */
export function reachableServer(question: ServerQuestion): ReachableServer | Refusal {
  const { cluster, stated, addresses, hub } = question;
  const wrong = wrongAddress(question);
  if (wrong !== undefined) return refused(wrong);
  if (cluster["proxy-url"] !== undefined) return throughProxy(question);
  const host = hostOf(stated ?? cluster.server);
  const isLoopback = isLoopbackHost(host, stated === undefined ? addresses : []);
  const isMeant = allowsServer({ servers: hub.allowedServers }, stated ?? cluster.server);
  if (isLoopback && hub.hasPods && !isMeant) {
    return stated === undefined ? besideHub(question) : refused(loopbackText(stated), askForServer);
  }
  return withServer(question, stated ?? cluster.server, nameWarnings(host, question));
}

function wrongAddress({ cluster, stated, context }: ServerQuestion): string | undefined {
  if (stated !== undefined && !isHttps(stated)) {
    return "--spoke-server has to be an address that begins with https://";
  }
  return isHttps(cluster.server)
    ? undefined
    : `The server of context "${context}" does not begin with https://`;
}

function throughProxy(question: ServerQuestion): ReachableServer | Refusal {
  const { cluster, stated, hub, context } = question;
  const proxy = URL.parse(cluster["proxy-url"] ?? "");
  if (proxy === null) return refused(`The proxy-url of context "${context}" is not an address`);
  if (`${proxy.username}${proxy.password}` !== "") {
    return refused(
      `The proxy-url of context "${context}" has a login, and a ClusterProfile holds no secrets`,
      ["Use a proxy without a login for the hub, in a context of its own."],
    );
  }
  if (hub.hasPods && isLoopbackHost(hostOf(proxy.href), [])) {
    return refused(`The proxy of context "${context}" is on this machine only: ${proxy.host}`, [
      "Use a context whose proxy the controller reaches, too.",
    ]);
  }
  return withServer(question, stated ?? cluster.server, []);
}

/** The address of a local cluster in the network of its containers. */
function besideHub(question: ServerQuestion): ReachableServer | Refusal {
  const { context, cluster, hub } = question;
  const [local, other] = [localCluster(context), localCluster(hub.context)];
  const why = loopbackText(cluster.server);
  if (!hub.isLocal || local === undefined || local.tool !== other?.tool) {
    return refused(why, askForServer);
  }
  const warning =
    local.tool === "k3d"
      ? [
          "k3d gives each cluster a Docker network of its own, unless both were created with the same --network",
        ]
      : [];
  return withServer(question, `https://${local.container}:6443`, warning);
}

interface LocalCluster {
  readonly tool: "kind" | "k3d";
  /** Name of the container with the API server, in the network of the containers. */
  readonly container: string;
}

/** The local cluster that a context of kind or k3d names. */
function localCluster(context: string): LocalCluster | undefined {
  const [, tool, name = ""] = /^(kind|k3d)-([a-z0-9][a-z0-9.-]*)$/.exec(context) ?? [];
  if (tool === "kind") return { tool, container: `${name}-control-plane` };
  return tool === "k3d" ? { tool, container: `k3d-${name}-server-0` } : undefined;
}

function withServer(
  { cluster, certificateNames }: ServerQuestion,
  server: string,
  warnings: readonly string[],
): ReachableServer {
  const { "tls-server-name": stated, ...others } = cluster;
  const isOfKubeconfig = server === cluster.server;
  const name =
    stated ?? (isOfKubeconfig ? undefined : servingName(hostOf(server), certificateNames));
  const tls = name === undefined ? {} : { "tls-server-name": name };
  return { cluster: { ...others, server, ...tls }, isOfKubeconfig, warnings };
}

// Every API server of kubeadm and k3s has them in its certificate.
const usualNames = ["kubernetes.default.svc", "kubernetes.default", "kubernetes"];

/** The name to verify the server with; undefined when the host itself is in the certificate, or when nothing is known of the certificate. */
function servingName(host: string, certificateNames: readonly string[]): string | undefined {
  const names = certificateNames.map((name) => name.replace(/^(?:DNS|IP Address):/, ""));
  if (names.length === 0 || names.some((name) => covers(name, host))) return undefined;
  const dns = certificateNames.flatMap((name) => /^DNS:([^*]+)$/.exec(name)?.[1] ?? []);
  return usualNames.find((name) => dns.includes(name)) ?? dns[0];
}

function covers(name: string, host: string): boolean {
  if (name.toLowerCase() === host.toLowerCase()) return true;
  return name.startsWith("*.") && host.split(".").slice(1).join(".") === name.slice(2);
}

/** Warns of a name that probably nothing but this machine knows. */
function nameWarnings(host: string, { hub, addresses, stated }: ServerQuestion): readonly string[] {
  if (!hub.hasPods || isIP(host) !== 0) return [];
  const isUnknownHere = stated === undefined && addresses.length === 0;
  if (!isUnknownHere && host.includes(".") && !localDomain.test(host)) return [];
  return [
    `The name ${host} may mean nothing in a pod of the hub; --spoke-server gives another one`,
  ];
}

const localDomain = /\.(?:local|localdomain|lan|home|internal|test)$/i;

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("0.0.0.0", "ipv4");
loopback.addAddress("::1", "ipv6");
loopback.addAddress("::", "ipv6");

/** Whether a host is this machine itself, by its name or by the addresses that it resolves to. */
export function isLoopbackHost(host: string, addresses: readonly string[]): boolean {
  if (/(?:^|\.)localhost$/i.test(host)) return true;
  return (isIP(host) === 0 ? addresses : [host]).some((address) =>
    loopback.check(address, isIP(address) === 4 ? "ipv4" : "ipv6"),
  );
}

/** The host of an address, without brackets. */
export function hostOf(server: string): string {
  return (URL.parse(server)?.hostname ?? "").replace(/^\[|\]$/g, "");
}

function isHttps(text: string): boolean {
  return URL.parse(text)?.protocol === "https:";
}

function loopbackText(server: string): string {
  return `The controller runs in a pod of the hub, which cannot reach ${server}`;
}

const askForServer: readonly string[] = [
  "Give the address at which the hub's pods reach the cluster, such as --spoke-server https://10.0.0.5:6443.",
];

function refused(why: string, next: readonly string[] = askForServer): Refusal {
  return { error: why, next };
}
