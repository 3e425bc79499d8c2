import { lookup } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import {
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  type TLSSocket,
} from "node:tls";

import { abortable } from "../deadline.ts";
import { codeOf } from "../kube/api-error.ts";
import type { AddressGuard } from "./address-guard.ts";
import { bareCertificates, type Endpoint } from "./endpoint.ts";
import { openSocket, openTunnel } from "./tunnel.ts";

/** Limits of one step on the way to a server. */
export interface ProbeLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly guard: AddressGuard;
}

/** Host and port of an endpoint's server, as sockets want them. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Where connections for an endpoint's server go, without regard to its proxy. */
export function placeOf({ server }: Endpoint): Place {
  const { hostname, port, protocol } = new URL(server);
  const usual = protocol === "http:" ? 80 : 443;
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? usual : Number(port) };
}

/** The addresses that a host name leads to, none refused by the guard. Rejects as Node's lookup does, or with ConnectionError. */
export async function probeName(
  host: string,
  { timeoutMs, signal, guard }: ProbeLimits,
): Promise<readonly string[]> {
  guard.check(host);
  if (isIP(host) !== 0) return [host];
  const late = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const found = await abortable(lookup(host, { all: true }), late);
  const addresses = found.map(({ address }) => address);
  for (const address of addresses) guard.check(address);
  return addresses;
}

/** A TCP connection to the server, through the endpoint's proxy if there is one. Rejects as sockets do, or with ConnectionError. */
export function probeConnection(
  endpoint: Endpoint,
  { timeoutMs, signal, guard }: ProbeLimits,
): Promise<Socket> {
  const limits = { connectTimeoutMs: timeoutMs, signal, guard };
  return endpoint.proxy === undefined
    ? openSocket(placeOf(endpoint), limits)
    : openTunnel(endpoint.proxy, placeOf(endpoint), { ...limits, endpoint });
}

/** What a server showed in the TLS handshake; times are in ms since 1970. */
export interface ShownCertificate {
  /** Code of Node or OpenSSL for why it is not trusted; undefined when it is. */
  readonly problem: string | undefined;
  readonly protocol: string;
  readonly subject: string;
  readonly issuer: string;
  readonly names: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Subjects from the server's certificate up, as the server sent them. */
  readonly chain: readonly string[];
  /** The name that the certificate is checked for. */
  readonly wantedName: string;
}

/**
 * Shakes hands over a connection, looks at the certificate and hangs up; nothing of ours is sent, also to a server that is not
 * trusted. Rejects with the socket's error, or with one of code `ETIMEDOUT` or `ECONNRESET`.
 */
export async function probeCertificate(
  socket: Socket,
  endpoint: Endpoint,
  { timeoutMs, signal }: Pick<ProbeLimits, "timeoutMs" | "signal">,
): Promise<ShownCertificate> {
  const wantedName = endpoint.tlsServerName ?? placeOf(endpoint).host;
  const tls = connectTls({
    socket,
    host: wantedName,
    ...(isIP(wantedName) === 0 ? { servername: wantedName } : {}),
    ALPNProtocols: ["h2", "http/1.1"],
    // Looked at below; the connection is closed before anything is said on it.
    rejectUnauthorized: false,
    secureContext: createSecureContext({
      minVersion: "TLSv1.2",
      ...(endpoint.caPem === undefined
        ? {}
        : { ca: bareCertificates(endpoint.caPem), allowPartialTrustChain: true }),
    }),
  });
  try {
    await shaken(tls, { timeoutMs, signal });
    return shownBy(tls, wantedName);
  } finally {
    tls.destroy();
    socket.destroy();
  }
}

function shaken(
  tls: TLSSocket,
  { timeoutMs, signal }: Pick<ProbeLimits, "timeoutMs" | "signal">,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const late = AbortSignal.timeout(timeoutMs);
  late.addEventListener("abort", () => reject(errorOf("ETIMEDOUT", "No TLS handshake in time")));
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  tls.once("secureConnect", resolve);
  tls.on("error", reject);
  tls.once("close", () => reject(errorOf("ECONNRESET", "The connection was closed")));
  return promise;
}

function shownBy(tls: TLSSocket, wantedName: string): ShownCertificate {
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
    problem: problemOf(tls, wantedName),
    protocol: tls.getProtocol() ?? "",
    subject: nameOf(certificate.subject),
    issuer: nameOf(certificate.issuer),
    names: (certificate.subjectaltname ?? "").split(", ").filter((name) => name !== ""),
    notBeforeMs: Date.parse(certificate.valid_from),
    notAfterMs: Date.parse(certificate.valid_to),
    chain,
    wantedName,
  };
}

function problemOf(tls: TLSSocket, wantedName: string): string | undefined {
  const error: unknown = tls.authorized ? undefined : tls.authorizationError;
  if (error !== undefined && error !== null) {
    return typeof error === "string" ? error : codeOf(error);
  }
  const mismatch = checkServerIdentity(wantedName, tls.getPeerCertificate());
  return mismatch === undefined ? undefined : "ERR_TLS_CERT_ALTNAME_INVALID";
}

function nameOf(subject: Readonly<Record<string, unknown>> | undefined): string {
  const parts = Object.entries(subject ?? {}).map(([key, value]) => `${key}=${String(value)}`);
  return parts.length === 0 ? "(no name)" : parts.join(", ");
}

function errorOf(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
