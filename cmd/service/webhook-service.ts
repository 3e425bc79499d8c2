import { connectHub, type HubConnection } from "../../access/hub/hub.ts";
import type { Log } from "../../access/log.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { FleetError } from "../../api/errors.ts";
import { startHealthServer } from "../../controller/health.ts";
import { type AppDeps, createApp } from "../../webhook/app.ts";
import { ByteBudget } from "../../webhook/byte-budget.ts";
import { type Certificates, startCertificates } from "../../webhook/certificates/certificates.ts";
import { startMountedCertificate } from "../../webhook/certificates/mounted-certificate.ts";
import { createMetrics, type Metrics } from "../../webhook/metrics.ts";
import { ServiceState, watchEventLoop } from "../../webhook/readiness.ts";
import {
  followClientAuthorities,
  loadClientAuthorities,
  startWebhookServer,
  type WebhookServer,
} from "../../webhook/server.ts";
import { podNamespace } from "./flag-values.ts";
import { Resources, type Service } from "./run.ts";
import { tlsVersionOf, type WebhookFlags } from "./webhook-flags.ts";
import { openReviews } from "./webhook-reviews.ts";

export interface WebhookSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly log: Log;
}

// Limit of all bodies that are read at the same time. Security: C20.
const budgetBytes = 48 * 1024 * 1024;

/**
 * Builds and starts the webhook from its flags. It is ready as soon as it has a certificate, also while the hub does not answer. Its disposal still answers
 * reviews for the drain period. Throws FleetError `ConfigInvalid` with one sentence for a release directory, kubeconfig or address that is not usable.
 */
export async function startWebhookService(
  flags: WebhookFlags,
  { environment, version, log }: WebhookSurroundings,
  signal: AbortSignal,
): Promise<Service> {
  const { kubeconfig } = flags;
  const namespace = flags.namespace ?? (await podNamespace(environment));
  log.info({ version, namespace, certificates: flags.certificates }, "Starting");
  await using opened = new Resources();
  // The reviews live longer than the signal, because they answer while the service drains.
  const life = new AbortController();
  const ended = new DOMException("The webhook has ended", "AbortError");
  opened.use("the service", { [Symbol.dispose]: () => life.abort(ended) });
  const loop = opened.use("the watch of the event loop", watchEventLoop(systemClock));
  const source = kubeconfig === undefined ? {} : { kubeconfig };
  const userAgent = `knfleet-webhook/${version}`;
  const hub = opened.use(
    "the connection to the hub",
    await connectHub({ ...source, clock: systemClock, environment, userAgent }),
  );
  const surroundings = { hub, namespace, environment, log };
  const reviews = opened.use("the reviews", await openReviews(flags, surroundings, life.signal));
  const metrics = createMetrics();
  const budget = new ByteBudget(systemClock, budgetBytes);
  const state = new ServiceState({ loop, budget, reviews });
  const server = opened.use(
    "the servers",
    await listen(
      flags,
      { clock: systemClock, reviews: reviews.reviews, metrics, budget, log, ...state.view },
      life.signal,
    ),
  );
  const parts = { hub, namespace, log, metrics, server };
  state.certificates = opened.use("the certificates", openCertificates(flags, parts, life.signal));
  signal.throwIfAborted();
  const running = opened.move();
  return {
    failed: new AbortController().signal,
    ending: () => running.last,
    async [Symbol.asyncDispose]() {
      // A webhook that was never ready gets no reviews.
      const drainMs = state.hasCertificate() ? flags.drainPeriod : 0;
      state.isDraining = true;
      log.info({ drainMs }, "Draining");
      await delay(systemClock, drainMs, new AbortController().signal);
      await running[Symbol.asyncDispose]();
      log.info({}, "Ended");
    },
  };
}

/** Listens on both addresses. Reviews are answered as soon as there is a certificate. */
async function listen(
  { address, healthAddress, ...flags }: WebhookFlags,
  deps: AppDeps,
  signal: AbortSignal,
): Promise<WebhookServer> {
  const { clock, log } = deps;
  await using opened = new AsyncDisposableStack();
  if (healthAddress !== "nowhere") {
    const { port } = opened.use(await startHealthServer(healthAddress, deps));
    log.info({ address: shown(healthAddress.host, port) }, "Serving health and metrics");
  }
  const app = createApp(deps);
  const terms = { address, minTlsVersion: tlsVersionOf(flags) };
  const server = opened.use(await startServer(flags, { clock, app, terms, log }, signal));
  log.info({ address: shown(address.host, server.port) }, "Answering admission reviews");
  const running = opened.move();
  return { ...server, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Starts a server for all clients, or only for API servers with client certificates, whose authorities are then followed. */
async function startServer(
  { clientCaFile: path, clientName: names }: Pick<WebhookFlags, "clientCaFile" | "clientName">,
  { clock, app, terms, log }: ServerParts,
  signal: AbortSignal,
): Promise<WebhookServer> {
  if (path === undefined) {
    if (names.length === 0) return startWebhookServer(app, { clock, ...terms });
    const message = "--client-name has no effect without --client-ca-file";
    throw new FleetError("ConfigInvalid", message);
  }
  const authoritiesPem = await loadClientAuthorities(path, signal);
  const server = await startWebhookServer(app, {
    clock,
    ...terms,
    clients: { authoritiesPem, names },
  });
  // Ends with the signal.
  void followClientAuthorities({ clock, path, known: authoritiesPem, log }, server, signal);
  return server;
}

interface ServerParts {
  readonly clock: Clock;
  readonly app: Parameters<typeof startWebhookServer>[0];
  readonly terms: Omit<Parameters<typeof startWebhookServer>[1], "clock">;
  readonly log: Log;
}

interface CertificateSurroundings {
  readonly hub: HubConnection;
  readonly namespace: string;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "certificateEnds">;
  readonly server: Pick<WebhookServer, "useCertificate">;
}

function openCertificates(
  flags: WebhookFlags,
  { hub, namespace, log, metrics, server }: CertificateSurroundings,
  signal: AbortSignal,
): Certificates {
  const deps: Parameters<typeof startCertificates>[0] = {
    client: hub.client,
    clock: systemClock,
    log,
    use: (certificate, endsMs) => {
      server.useCertificate(certificate);
      metrics.certificateEnds(endsMs / 1_000);
    },
  };
  if (flags.certificates === "files") {
    return startMountedCertificate(deps, flags.certificateDir, signal);
  }
  const name = flags.serviceName;
  const domain = `${name}.${namespace}.svc`;
  return startCertificates(
    deps,
    {
      leafMs: Math.min(flags.certificateLifetime, flags.authorityLifetime),
      authorityMs: flags.authorityLifetime,
      overlapMs: overlapOf(flags),
      dnsNames: [domain, `${domain}.cluster.local`],
      secretName: flags.secretName,
      service: { namespace, name },
      configurations: flags.webhookConfiguration,
    },
    signal,
  );
}

const overlaps = { minMs: 3_000, maxMs: 3_600_000 } as const;

/** A twentieth of the life of an authority, at most an hour, and long enough for replicas and API servers to trust the new one. */
function overlapOf({ authorityLifetime }: WebhookFlags): number {
  return Math.max(overlaps.minMs, Math.min(overlaps.maxMs, authorityLifetime / 20));
}

function shown(host: string | undefined, port: number): string {
  if (host === undefined) return `:${port}`;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
