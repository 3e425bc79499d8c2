import { constants, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";

import { fileText, followFile } from "../access/followed-file.ts";
import type { Log } from "../access/log.ts";
import type { Clock } from "../access/time/clock.ts";
import { FleetError } from "../api/errors.ts";

/** Where to listen. Without a host: on all addresses. Port 0: any free port. */
export interface ListenAddress {
  readonly host?: string;
  readonly port: number;
}

/** The serving certificate with its chain, and its private key, both PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface WebhookServer extends AsyncDisposable {
  /** The port that the server listens on. */
  readonly port: number;
  /** Serves this certificate on new connections. Before the first call no handshake succeeds. */
  useCertificate(certificate: ServingCertificate): void;
  /** Accepts client certificates of these authorities on new connections. Has an effect only when `clients` was given at the start. */
  useClientAuthorities(authoritiesPem: string): void;
}

/** Clients that may send reviews, told by their certificates. Security: T-72. */
export interface Clients {
  readonly authoritiesPem: string;
  /** Common names of their certificates; empty: all names. */
  readonly names: readonly string[];
}

export interface WebhookServerOptions {
  readonly clock: Clock;
  readonly address: ListenAddress;
  readonly certificate?: ServingCertificate;
  readonly minTlsVersion: "TLSv1.2" | "TLSv1.3";
  /** Absent: every client is answered. */
  readonly clients?: Clients;
  /** Default `requestLimits`. */
  readonly limits?: RequestLimits;
}

/** The time in milliseconds that a client has for the head of a request, and for all of it. */
export interface RequestLimits {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
}

export const requestLimits: RequestLimits = { headersTimeout: 10_000, requestTimeout: 15_000 };

// Security: T-70. The API server keeps an idle connection for 90 s. If we closed it sooner, its next POST would be lost.
const connectionLimits = {
  maxHeaderSize: 16 * 1024,
  keepAliveTimeout: 120_000,
  // How often Node looks for requests that take too long.
  connectionsCheckingInterval: 1_000,
} as const;
const maxConnections = 512;
const handshakeTimeout = 5_000;

/** Serves an app over HTTPS, HTTP/1.1 only. Throws FleetError `ConfigInvalid` when it cannot listen. */
export async function startWebhookServer(
  app: RequestListener,
  {
    clock,
    address,
    certificate,
    minTlsVersion,
    clients,
    limits = requestLimits,
  }: WebhookServerOptions,
): Promise<WebhookServer> {
  const terms = {
    minVersion: minTlsVersion,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
  let own = certificate;
  let trusted = clients?.authoritiesPem;
  const context = () => ({ ...own, ...terms, ...(trusted === undefined ? {} : { ca: trusted }) });
  const asks = clients === undefined ? {} : { requestCert: true, rejectUnauthorized: true };
  const server = createServer(
    {
      ...connectionLimits,
      ...limits,
      ...context(),
      ...asks,
      handshakeTimeout,
      ALPNProtocols: ["http/1.1"],
    },
    clients === undefined ? app : onlyFor(clients, app),
  );
  server.maxConnections = maxConnections;
  server.maxRequestsPerSocket = 0;
  // A client that leaves during the handshake is no error of ours.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  const port = await listen(server, address);
  return {
    port,
    useCertificate: (next) => {
      own = next;
      server.setSecureContext(context());
    },
    useClientAuthorities: (pem) => {
      trusted = pem;
      server.setSecureContext(context());
    },
    [Symbol.asyncDispose]: () => close(server, clock),
  };
}

/** Checks the name in the client certificate; the handshake has checked its authority. */
function onlyFor({ names }: Clients, app: RequestListener): RequestListener {
  return (request, response) => {
    const name = clientNameOf(request);
    if (names.length === 0 || (name !== undefined && names.includes(name))) {
      app(request, response);
      return;
    }
    response.writeHead(403, { "content-type": "text/plain; charset=utf-8", connection: "close" });
    response.end("the client certificate is not that of an API server\n");
  };
}

function clientNameOf({ socket }: IncomingMessage): string | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  const { subject } = socket.getPeerCertificate();
  const name: unknown = subject.CN;
  return typeof name === "string" ? name : undefined;
}

async function listen(server: Server, { host, port }: ListenAddress): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    const place = `${host ?? ""}:${port}`;
    throw new FleetError("ConfigInvalid", `Cannot listen on --address ${place}`, { cause });
  }
  return portOf(server.address());
}

const lastAnswersMs = 2_000;

/** Closes idle connections at once. Running requests have two seconds to get their answer. */
async function close(server: Server, clock: Clock): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  const giveUp = clock.after(lastAnswersMs, () => server.closeAllConnections());
  await closed;
  giveUp[Symbol.dispose]();
}

function portOf(address: string | AddressInfo | null): number {
  return typeof address === "object" && address !== null ? address.port : 0;
}

const what = "The file of client authorities";

/** Reads the authorities of API servers' client certificates, PEM. Throws FleetError `ConfigInvalid`; the message names the path. */
export async function loadClientAuthorities(path: string, signal: AbortSignal): Promise<string> {
  const text = await fileText({ what, path }, signal);
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length > 0 && found.every(isCertificate)) return text;
  throw new FleetError("ConfigInvalid", `${what} ${path} holds no certificates that can be read`);
}

interface AuthorityFile {
  readonly clock: Clock;
  readonly path: string;
  readonly known: string;
  readonly log: Log;
}

/** Makes the server trust the authorities in the file, and follows the file until the signal aborts. An unusable content changes nothing. */
export async function followClientAuthorities(
  { clock, path, known, log }: AuthorityFile,
  server: Pick<WebhookServer, "useClientAuthorities">,
  signal: AbortSignal,
): Promise<void> {
  const follower = {
    clock,
    known,
    load: (either: AbortSignal) => loadClientAuthorities(path, either),
    onChange: (text: string) => {
      server.useClientAuthorities(text);
      log.info({ path }, "Trusting new client authorities");
    },
    onValid: () => undefined,
    onInvalid: () => log.warn({ path }, "Kept the last good client authorities"),
  };
  await followFile(path, follower, signal);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}
