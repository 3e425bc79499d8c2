import { FleetError } from "../../api/errors.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { environmentProxy } from "../http/environment-proxy.ts";
import { cannotWork, probeRequest, type Silence } from "../http/liveness.ts";
import { withPermit, type WritePermit } from "../http/permitted-requester.ts";
import { type EndpointProxy, proxyOf, ProxyUrlError } from "../http/proxy-url.ts";
import { RequestCounters } from "../http/request-counters.ts";
import type { OpenTransport, RequestObserver } from "../http/request.ts";
import { AuthorizedRequester } from "../http/requester.ts";
import type { MayWrite } from "../http/write-permit.ts";
import { ConnectionError } from "../kube/api-error.ts";
import { createKubeClient } from "../kube/create-kube-client.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { RenewingCredentials } from "../plugins/credential-source.ts";
import type { Credential } from "../plugins/credential.ts";
import { pluginEnvironment } from "../plugins/plugin-policy.ts";
import { Gate } from "../spokes/gate.ts";
import type { Clock } from "../time/clock.ts";
import { hubCredential, pemOf } from "./hub-credentials.ts";
import { type HubConfig, type KubeconfigSource, loadKubeconfig } from "./kubeconfig.ts";

export interface HubOptions extends KubeconfigSource {
  readonly clock: Clock;
  readonly userAgent: string;
  readonly counters?: RequestCounters;
  /** After what silence a connection counts as dead; default: `defaultSilence`. */
  readonly silence?: Silence;
  /** Asked before each write; absent: writes are always allowed. */
  readonly mayWrite?: MayWrite;
  readonly onRequest?: RequestObserver;
  readonly openTransport?: OpenTransport;
  /** Called with each new credential, so that logs and bundles can leave its secrets out. */
  readonly onCredential?: (credential: Credential) => void;
}

/** The hub: the cluster that holds the components and ClusterProfiles. */
export interface HubConnection extends AsyncDisposable {
  readonly client: KubeClient;
  /** Context of the kubeconfig, or `in-cluster`. */
  readonly context: string;
  /** Namespace of the context; `default` when it names none. */
  readonly namespace: string;
  readonly endpoint: Endpoint;
  /** Whether the API server works, by its answer to `GET /readyz`. Throws as the client does when there is no answer. */
  isWorking(signal: AbortSignal): Promise<boolean>;
  /** A client over the same connection whose writes need this permit, too. */
  clientWith(permit: WritePermit): KubeClient;
  /** Sends new requests over a new connection, perhaps to another API server. Running requests may finish. */
  reconnect(): void;
  /** Like `reconnect`, and ends running requests and watches with a `ConnectionError`, because the old server may never answer. */
  exchange(): void;
}

/**
 * Connects to the hub by kubeconfig or from inside the cluster. Reads files, sends nothing yet.
 *
 * Throws `FleetError` `ConfigInvalid` with one sentence for a kubeconfig that cannot be used.
 */
export async function connectHub(options: HubOptions): Promise<HubConnection> {
  const config = loadKubeconfig(options);
  const { clock } = options;
  const surroundings = { clock, environment: pluginEnvironment(options.environment) };
  const credentials = new RenewingCredentials({
    // Reads the kubeconfig again each time, because a login tool may have written new tokens.
    obtain: async (signal) => {
      const credential = await hubCredential(loadKubeconfig(options), surroundings, signal);
      options.onCredential?.(credential);
      return credential;
    },
    clock,
    random: () => clock.random(),
  });
  const endpoint = await hubEndpoint(config, options.environment);
  const requester = new AuthorizedRequester({
    clock,
    endpoint,
    userAgent: options.userAgent,
    counters: options.counters ?? new RequestCounters(clock),
    credentials,
    ...(options.mayWrite === undefined ? {} : { mayWrite: options.mayWrite }),
    ...(options.onRequest === undefined ? {} : { onRequest: options.onRequest }),
    openTransport: options.openTransport,
    ...(options.silence === undefined ? {} : { silence: options.silence }),
  });
  const gate = new Gate(requester, clock);
  return {
    client: createKubeClient(gate),
    context: config.context,
    namespace: config.namespace,
    endpoint,
    isWorking: async (signal) => {
      const request = probeRequest("/readyz", readyTimeoutMs);
      return !cannotWork(await gate.send({ ...request, idempotent: true }, signal));
    },
    clientWith: (permit) => createKubeClient(withPermit(gate, permit)),
    reconnect: () => requester.reconnect(),
    exchange: () => {
      requester.reconnect();
      const text = `${requester.server}: the connection was exchanged for a new one`;
      gate.breakOff(new ConnectionError("closed", text));
    },
    [Symbol.asyncDispose]: async () => {
      credentials[Symbol.dispose]();
      await requester[Symbol.asyncDispose]();
    },
  };
}

const readyTimeoutMs = 10_000;

async function hubEndpoint(
  config: HubConfig,
  environment: HubOptions["environment"],
): Promise<Endpoint> {
  const { cluster, context } = config;
  const server = URL.parse(textOf(cluster["server"]));
  if (server === null || !/^https?:$/.test(server.protocol)) {
    throw new FleetError(
      "ConfigInvalid",
      `The cluster of context "${context}" has no usable server`,
    );
  }
  const caPem = await pemOf(cluster, "certificate-authority");
  const tlsServerName = textOf(cluster["tls-server-name"]);
  const proxy = hubProxy(config, server, environment);
  return {
    server: `${server.origin}${server.pathname.replace(/\/+$/, "")}`,
    insecureSkipTlsVerify: cluster["insecure-skip-tls-verify"] === true,
    ...(caPem === undefined ? {} : { caPem }),
    ...(tlsServerName === "" ? {} : { tlsServerName }),
    ...(proxy === undefined ? {} : { proxy }),
  };
}

/** As kubectl: `proxy-url` of the kubeconfig, else that of the environment. In a pod the API server of its own cluster is never behind a proxy. */
function hubProxy(
  { cluster, context, isInCluster }: HubConfig,
  server: URL,
  environment: HubOptions["environment"],
): EndpointProxy | undefined {
  const named = textOf(cluster["proxy-url"]);
  try {
    if (named !== "") return proxyOf(named);
    return isInCluster === true ? undefined : environmentProxy(server, environment);
  } catch (error) {
    if (!(error instanceof ProxyUrlError)) throw error;
    const subject = named === "" ? "" : `proxy-url of context "${context}" `;
    throw new FleetError("ConfigInvalid", `${subject}${error.message}`);
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
