import { Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";

import { buildConnector } from "undici";

import { codeOf } from "../kube/api-error.ts";
import type { ClientCertificate } from "../plugins/credential.ts";
import type { Clock } from "../time/clock.ts";
import { Follower } from "../time/deadline.ts";
import type { AddressGuard } from "./address-guard.ts";
import { bareCertificates, type Endpoint } from "./endpoint.ts";
import { defaultSilence, destroyWhenSilent, type Silence } from "./liveness.ts";
import type { EndpointProxy } from "./proxy-url.ts";
import { openSocket, openTunnel } from "./tunnel.ts";
import { guardSocket } from "./write-permit.ts";

export interface ConnectorOptions {
  readonly clock: Clock;
  readonly endpoint: Endpoint;
  readonly certificate?: ClientCertificate;
  readonly http2: boolean;
  readonly connectTimeoutMs: number;
  readonly silence?: Silence;
  /** Absent: connections may go anywhere. */
  readonly guard?: AddressGuard;
  /** Checked immediately before bytes go out. False destroys the connection. Absent: bytes may always go out. */
  readonly mayGoOn?: () => boolean;
  /** Destroys every socket when it aborts, also one that is not connected yet. */
  readonly signal: AbortSignal;
  /** Called when an established connection broke. Not called for an idle close, GOAWAY or our own close. */
  readonly onBroken: (error: Error) => void;
}

/** Code of the error for a server that speaks only HTTP/1.1. No request was sent to it. */
export const http1OnlyCode = "KNFLEET_HTTP1_ONLY";

/**
 * Connects undici to one server: verified TLS 1.2 or later, HTTP/2, through the endpoint's proxy. Destroys a connection that falls silent.
 * Throws when certificate and key do not match.
 */
export function connectorOf(options: ConnectorOptions): buildConnector.connector {
  const secureContext = secureContextOf(options.endpoint, options.certificate);
  return (target, callback) => {
    // Node 24 crashes when a TLS connection that was started with an aborted signal receives bytes.
    if (options.signal.aborted) return callback(asError(options.signal.reason), null);
    const end = new Follower(options.signal);
    const limits = { ...options, signal: end.signal };
    const done: buildConnector.Callback = (...result) => {
      const [error, socket] = result;
      if (error === null) socket.once("close", () => end[Symbol.dispose]());
      else end[Symbol.dispose]();
      return callback(...result);
    };
    const connect = connectorTo(limits, secureContext);
    return connectOne(target, { ...limits, connect }, done);
  };
}

/** Opens one connection. Returns the socket where undici opens it, as `timedConnector` expects. */
function connectOne(
  target: buildConnector.Options,
  options: ConnectorOptions & { readonly connect: buildConnector.connector },
  callback: buildConnector.Callback,
): void {
  const { clock, endpoint, http2, guard, connect } = options;
  const done: buildConnector.Callback = (...result) => {
    const [failure, socket] = result;
    if (failure !== null) return callback(failure, null);
    if (http2 && socket instanceof TLSSocket && socket.alpnProtocol !== "h2") {
      socket.destroy();
      const error = new Error("The server does not speak HTTP/2");
      return callback(Object.assign(error, { code: http1OnlyCode }), null);
    }
    if (http2) destroyWhenSilent(socket, clock, options.silence ?? defaultSilence);
    socket.once("error", (broken) => {
      // UND_ERR_INFO is no failure: undici closed an idle connection, or the server sent GOAWAY.
      if (codeOf(broken) !== "UND_ERR_INFO") options.onBroken(broken);
    });
    socket.once("end", () => options.onBroken(new Error("other side closed")));
    return callback(null, socket);
  };
  try {
    guard?.check(target.hostname);
  } catch (error) {
    return done(asError(error), null);
  }
  const isUnguarded = options.mayGoOn === undefined || target.protocol === "http:";
  if (endpoint.proxy === undefined && isUnguarded) return connect(target, done);
  void connectOver(endpoint.proxy, target);
  async function connectOver(
    proxy: EndpointProxy | undefined,
    { hostname, port, protocol }: buildConnector.Options,
  ): Promise<void> {
    const isPlain = protocol === "http:";
    try {
      const address = { host: hostname, port: Number(port === "" ? (isPlain ? 80 : 443) : port) };
      const raw = await (proxy === undefined
        ? openSocket(address, options)
        : openTunnel(proxy, address, options));
      reportOpen(target);
      if (isPlain) done(null, raw);
      else connect({ ...target, httpSocket: guardSocket(raw, options.mayGoOn) }, done);
    } catch (error) {
      callback(asError(error), null);
    }
  }
}

function connectorTo(
  { endpoint, http2, guard, ...options }: Omit<ConnectorOptions, "certificate">,
  secureContext: SecureContext,
): buildConnector.connector {
  return buildConnector({
    allowH2: http2,
    preferH2: http2,
    timeout: options.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    signal: options.signal,
    secureContext,
    // Explicit: otherwise NODE_TLS_REJECT_UNAUTHORIZED decides.
    rejectUnauthorized: endpoint.insecureSkipTlsVerify !== true,
    ...(guard === undefined ? {} : { lookup: guard.lookup }),
    ...(endpoint.tlsServerName === undefined ? {} : { servername: endpoint.tlsServerName }),
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error("The connection failed", { cause: error });
}

function secureContextOf(endpoint: Endpoint, certificate?: ClientCertificate): SecureContext {
  return createSecureContext({
    minVersion: "TLSv1.2",
    ...(endpoint.caPem === undefined
      ? {}
      : // As Go does: a certificate of the bundle is a trust anchor even if it is not self-signed.
        { ca: bareCertificates(endpoint.caPem), allowPartialTrustChain: true }),
    ...(certificate === undefined
      ? {}
      : { cert: certificate.certificatePem, key: certificate.keyPem.reveal() }),
  });
}

/** Start and end of a step, by the monotonic clock. */
export interface Times {
  readonly startMs: number;
  readonly endMs: number;
}

/** The times of one connection to a server. */
export interface ConnectTimes extends Times {
  /** When the TCP connection or the tunnel was open and TLS began. Absent when it never was. */
  readonly connectedMs?: number;
  /** Code of the error, when the connection failed. */
  readonly code?: string;
}

const onOpen = Symbol("onOpen");

/** Reports that the TCP connection or the tunnel is open and TLS begins, for connections that undici does not open. */
function reportOpen(target: object): void {
  const report: unknown = onOpen in target ? target[onOpen] : undefined;
  if (typeof report === "function") report();
}

interface TimedOptions {
  readonly clock: Clock;
  readonly onConnect?: (times: ConnectTimes) => void;
}

/** Wraps a connector so that it reports the times of each connection. */
export function timedConnector(
  connect: buildConnector.connector,
  { clock, onConnect }: TimedOptions,
): buildConnector.connector {
  if (onConnect === undefined) return connect;
  return (target, callback) => {
    const startMs = clock.now();
    let connected: { readonly connectedMs?: number } = {};
    const noteOpen = (): void => {
      connected = { connectedMs: clock.now() };
    };
    const done: buildConnector.Callback = (...result) => {
      const [error] = result;
      const failure = error === null ? {} : { code: codeOf(error) || "Unknown" };
      onConnect({ startMs, ...connected, endMs: clock.now(), ...failure });
      return callback(...result);
    };
    // undici returns the socket before it is connected. For a socket that we open, `reportOpen` calls back.
    const timed = { ...target, [onOpen]: noteOpen };
    const socket: unknown = connect(timed, done);
    if (socket instanceof Socket) socket.once("connect", noteOpen);
  };
}
