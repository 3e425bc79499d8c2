import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

import { addressGuard } from "../../../../access/http/address-guard.ts";
import { probeCertificate, probeConnection } from "../../../../access/http/endpoint-probe.ts";
import { pemOf } from "../../../../access/hub/hub-credentials.ts";
import { connectHub, type HubConnection } from "../../../../access/hub/hub.ts";
import { loadKubeconfig } from "../../../../access/hub/kubeconfig.ts";
import { ApiError, ConnectionError, missingRightIn } from "../../../../access/kube/api-error.ts";
import { accessClusterOf } from "../../../../access/profiles/profile-objects.ts";
import { userAgent } from "../../client-version.ts";
import { UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import type { Environment } from "../../hub/open-hub.ts";
import { words } from "../../output/steps.ts";
import { hostOf } from "./reachable-server.ts";
import type { SpokeFacts } from "./registration-facts.ts";

/** The cluster of a context, with the caller's own credential. */
export interface OpenSpoke extends AsyncDisposable {
  readonly context: string;
  readonly connection: HubConnection;
  /** The cluster as the kubeconfig has it. */
  readonly cluster: SpokeFacts["cluster"];
  /** Time for one request. */
  readonly timeoutMs: number;
}

interface SpokeOptions {
  readonly context: string;
  /** File of `--from-kubeconfig`. Undefined: where the hub's context is from. */
  readonly kubeconfig: string | undefined;
  readonly env: Environment;
}

/** Opens the cluster of a context. Reads files, and sends no request yet. Throws FleetError `ConfigInvalid`. */
export async function openSpoke(
  { hub, spokeTimeoutMs, onRequest }: Pick<Flags, "hub" | "spokeTimeoutMs" | "onRequest">,
  { context, kubeconfig = hub.kubeconfig, env }: SpokeOptions,
): Promise<OpenSpoke> {
  const file = kubeconfig === undefined ? {} : { kubeconfig };
  const source = { environment: env, context, ...file };
  const { cluster } = loadKubeconfig(source);
  const caPem = await pemOf(cluster, "certificate-authority");
  const observer = onRequest === undefined ? {} : { onRequest };
  const connection = await connectHub({ ...source, userAgent, ...observer });
  return {
    context,
    connection,
    cluster: accessClusterOf(cluster, caPem),
    timeoutMs: spokeTimeoutMs,
    [Symbol.asyncDispose]() {
      // Not awaited, as for the hub.
      void connection[Symbol.asyncDispose]().then(undefined, () => undefined);
      return Promise.resolve();
    },
  };
}

/** Does work on the cluster of a context. Explains its errors as those of that cluster, because all other errors of a command are about the hub. */
export async function onSpoke<Result>(
  { context }: Pick<OpenSpoke, "context">,
  work: Promise<Result>,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    const isOfServer = error instanceof ApiError || error instanceof ConnectionError;
    if (!isOfServer) throw error;
    const right = error instanceof ApiError ? missingRightIn(error.message) : undefined;
    const why = right === undefined ? error.message : `you lack ${right}`;
    throw new UsageError(`The cluster of context "${context}": ${why}`, [
      words("kubectl", "config", "view", "--minify", "--context", context),
    ]);
  }
}

/** The addresses of the server's host, as this machine resolves it. Empty when it does not. */
export async function serverAddresses(server: string): Promise<readonly string[]> {
  const host = hostOf(server);
  if (isIP(host) !== 0) return [host];
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** The names of the certificate that the server shows. Empty when they cannot be read. */
export async function certificateNames(
  { connection: { endpoint }, timeoutMs }: OpenSpoke,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const limits = { timeoutMs, signal, guard: addressGuard({ loopback: true }) };
  try {
    const socket = await probeConnection(endpoint, limits);
    return (await probeCertificate(socket, endpoint, limits)).names;
  } catch {
    signal.throwIfAborted();
    return [];
  }
}
