import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

import { addressGuard } from "../../../../access/http/address-guard.ts";
import { probeCertificate, probeConnection } from "../../../../access/http/endpoint-probe.ts";
import { pemOf } from "../../../../access/hub/hub-credentials.ts";
import { connectHub, type HubConnection, type HubOptions } from "../../../../access/hub/hub.ts";
import { loadKubeconfig } from "../../../../access/hub/kubeconfig.ts";
import { ApiError, ConnectionError } from "../../../../access/kube/api-error.ts";
import { missingRightIn } from "../../../../access/kube/missing-right.ts";
import { accessClusterOf } from "../../../../access/profiles/profile-objects.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { FleetError } from "../../../../api/errors.ts";
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
  /** What to do when the kubeconfig has no such context. */
  readonly next: readonly string[];
}

/** Opens the cluster of a context. Reads files, and sends no request yet. Throws UsageError for a kubeconfig that is not usable. */
export async function openSpoke(
  { hub, spokeTimeoutMs, onRequest }: Pick<Flags, "hub" | "spokeTimeoutMs" | "onRequest">,
  { context, kubeconfig = hub.kubeconfig, env, next }: SpokeOptions,
): Promise<OpenSpoke> {
  const file = kubeconfig === undefined ? {} : { kubeconfig };
  const source = { clock: systemClock, environment: env, context, ...file };
  const observer = onRequest === undefined ? {} : { onRequest };
  const { cluster, connection } = await openContext({ ...source, userAgent, ...observer }, next);
  return {
    context,
    connection,
    cluster,
    timeoutMs: spokeTimeoutMs,
    [Symbol.asyncDispose]() {
      // Not awaited, as for the hub.
      void connection[Symbol.asyncDispose]().then(undefined, () => undefined);
      return Promise.resolve();
    },
  };
}

async function openContext(
  options: HubOptions,
  next: readonly string[],
): Promise<Pick<OpenSpoke, "cluster" | "connection">> {
  try {
    const { cluster } = loadKubeconfig(options);
    const caPem = await pemOf(cluster, "certificate-authority");
    return { cluster: accessClusterOf(cluster, caPem), connection: await connectHub(options) };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    throw new UsageError(error.sentence, next);
  }
}

/** Does work on the cluster of a context. Explains its errors as those of that cluster, because all other errors of a command are about the hub. */
export async function onSpoke<Result>(
  { context }: Pick<OpenSpoke, "context">,
  work: Promise<Result>,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    const why = whyNot(error);
    if (why === undefined) throw error;
    throw new UsageError(`The cluster of context "${context}": ${why}`, [
      words("kubectl", "config", "view", "--minify", "--context", context),
      ...(isLate(error)
        ? ["Give each request more time with --spoke-timeout, or the command with --timeout."]
        : []),
    ]);
  }
}

/** What went wrong on a cluster, in words; undefined for an error of another kind. */
function whyNot(error: unknown): string | undefined {
  if (error instanceof ApiError) {
    const right = missingRightIn(error.message);
    return right === undefined ? error.message : `you lack ${right}`;
  }
  if (error instanceof ConnectionError) return error.message;
  return isLate(error) ? "it did not answer in time" : undefined;
}

function isLate(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
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
  const limits = { clock: systemClock, timeoutMs, signal, guard: addressGuard({ loopback: true }) };
  try {
    const socket = await probeConnection(endpoint, limits);
    return (await probeCertificate(socket, endpoint, limits)).names;
  } catch {
    signal.throwIfAborted();
    return [];
  }
}
