import { lookup } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import {
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  type TLSSocket,
} from "node:tls";

import { codeOf } from "../kube/api-error.ts";
import type { Clock } from "../time/clock.ts";
import { abortable, withTimeout } from "../time/deadline.ts";
import type { AddressGuard } from "./address-guard.ts";
import { bareCertificates, type Endpoint } from "./endpoint.ts";
import type { ServerAddress } from "./socks.ts";
import { openSocket, openTunnel } from "./tunnel.ts";

/** Limits of one step on the way to a server. */
export interface ProbeLimits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly guard: AddressGuard;
}

/** The address of an endpoint's server, without regard to its proxy. */
export function serverAddressOf({ server }: Endpoint): ServerAddress {
  const { hostname, port, protocol } = new URL(server);
  const defaultPort = protocol === "http:" ? 80 : 443;
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? defaultPort : Number(port) };
}

/** Resolves a host name. Rejects as Node's lookup does, or with ConnectionError when the guard refuses an address. */
export async function probeName(
  host: string,
  { clock, timeoutMs, signal, guard }: ProbeLimits,
): Promise<readonly string[]> {
  guard.check(host);
  if (isIP(host) !== 0) return [host];
  const limit = withTimeout(clock, timeoutMs, signal);
  const entries = await abortable(lookup(host, { all: true }), limit);
  const addresses = entries.map(({ address }) => address);
  for (const address of addresses) guard.check(address);
  return addresses;
}

/** Opens a TCP connection to the server, through the endpoint's proxy if there is one. Rejects as sockets do, or with ConnectionError. */
export function probeConnection(
  endpoint: Endpoint,
  { clock, timeoutMs, signal, guard }: ProbeLimits,
): Promise<Socket> {
  const limits = { clock, connectTimeoutMs: timeoutMs, signal, guard };
  return endpoint.proxy === undefined
    ? openSocket(serverAddressOf(endpoint), limits)
    : openTunnel(endpoint.proxy, serverAddressOf(endpoint), { ...limits, endpoint });
}

/** The certificate that a server showed in the TLS handshake. Times are in ms since 1970. */
export interface ShownCertificate {
  /** Code of Node or OpenSSL when the certificate is not trusted. Undefined when it is. */
  readonly problem: string | undefined;
  readonly protocol: string;
  readonly subject: string;
  readonly issuer: string;
  readonly names: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Subjects of the chain in the order of the server, its own certificate first. */
  readonly chain: readonly string[];
  /** The name that the certificate has to cover. */
  readonly expectedName: string;
}

/**
 * Does the TLS handshake on a connection, reads the certificate and closes the connection. Sends no data of ours, also to a server that is not trusted.
 * Rejects with the socket's error, or with one of code `ETIMEDOUT` or `ECONNRESET`.
 */
export async function probeCertificate(
  socket: Socket,
  endpoint: Endpoint,
  limits: Omit<ProbeLimits, "guard">,
): Promise<ShownCertificate> {
  const expectedName = endpoint.tlsServerName ?? serverAddressOf(endpoint).host;
  const tls = connectTls({
    socket,
    host: expectedName,
    ...(isIP(expectedName) === 0 ? { servername: expectedName } : {}),
    ALPNProtocols: ["h2", "http/1.1"],
    // `problemOf` verifies the certificate, and the connection is closed before any data is sent.
    rejectUnauthorized: false,
    secureContext: createSecureContext({
      minVersion: "TLSv1.2",
      ...(endpoint.caPem === undefined
        ? {}
        : { ca: bareCertificates(endpoint.caPem), allowPartialTrustChain: true }),
    }),
  });
  try {
    await waitForHandshake(tls, limits);
    return shownCertificate(tls, expectedName);
  } finally {
    tls.destroy();
    socket.destroy();
  }
}

function waitForHandshake(
  tls: TLSSocket,
  { clock, timeoutMs, signal }: Omit<ProbeLimits, "guard">,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const limit = withTimeout(clock, timeoutMs, signal);
  const late = errorOf("ETIMEDOUT", "No TLS handshake in time");
  limit.addEventListener("abort", () => reject(signal.aborted ? signal.reason : late));
  tls.once("secureConnect", resolve);
  tls.on("error", reject);
  tls.once("close", () => reject(errorOf("ECONNRESET", "The connection was closed")));
  return promise;
}

function shownCertificate(tls: TLSSocket, expectedName: string): ShownCertificate {
  const certificate = tls.getPeerCertificate(true);
  const chain: string[] = [];
  const seen = new Set<string>();
  let next: typeof certificate | undefined = certificate;
  while (next?.subject !== undefined && !seen.has(next.fingerprint256)) {
    seen.add(next.fingerprint256);
    chain.push(nameOf(next.subject));
    next = "issuerCertificate" in next ? next.issuerCertificate : undefined;
  }
  return {
    problem: problemOf(tls, expectedName),
    protocol: tls.getProtocol() ?? "",
    subject: nameOf(certificate.subject),
    issuer: nameOf(certificate.issuer),
    names: (certificate.subjectaltname ?? "").split(", ").filter((name) => name !== ""),
    notBeforeMs: Date.parse(certificate.valid_from),
    notAfterMs: Date.parse(certificate.valid_to),
    chain,
    expectedName,
  };
}

function problemOf(tls: TLSSocket, expectedName: string): string | undefined {
  const error: unknown = tls.authorized ? undefined : tls.authorizationError;
  if (error !== undefined && error !== null) {
    return typeof error === "string" ? error : codeOf(error);
  }
  const mismatch = checkServerIdentity(expectedName, tls.getPeerCertificate());
  return mismatch === undefined ? undefined : "ERR_TLS_CERT_ALTNAME_INVALID";
}

function nameOf(subject: Readonly<Record<string, unknown>> | undefined): string {
  const parts = Object.entries(subject ?? {}).map(([key, value]) => `${key}=${String(value)}`);
  return parts.length === 0 ? "(no name)" : parts.join(", ");
}

function errorOf(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
