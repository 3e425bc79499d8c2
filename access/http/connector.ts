import { Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";

import { buildConnector } from "undici";

import { Follower } from "../deadline.ts";
import { codeOf } from "../kube/api-error.ts";
import type { ClientCertificate } from "../plugins/credential.ts";
import type { AddressGuard } from "./address-guard.ts";
import { bareCertificates, type Endpoint } from "./endpoint.ts";
import { defaultSilence, destroyWhenSilent, type Silence } from "./liveness.ts";
import type { EndpointProxy } from "./proxy-url.ts";
import { openSocket, openTunnel } from "./tunnel.ts";
import { guarded } from "./write-permit.ts";

export interface ConnectorOptions {
  readonly endpoint: Endpoint;
  readonly certificate?: ClientCertificate;
  readonly http2: boolean;
  readonly connectTimeoutMs: number;
  readonly silence?: Silence;
  /** Absent: connections may go anywhere. */
  readonly guard?: AddressGuard;
  /** Asked immediately before bytes go out; a no destroys the connection. Absent: it is never asked. */
  readonly mayGoOn?: () => boolean;
  /** Destroys every socket when it aborts, also one that is still being connected. */
  readonly signal: AbortSignal;
  /** Called when an established connection broke: not on idle close, GOAWAY or our own end. */
  readonly onBroken: (error: Error) => void;
}

/** Code of the error that says that a server speaks only HTTP/1.1; nothing was sent to it. */
export const http1OnlyCode = "KNFLEET_HTTP1_ONLY";

/**
 * How undici connects to one server: TLS 1.2 or later, verified, HTTP/2, through the endpoint's proxy, watched for silence.
 * Throws when certificate and key do not fit.
 */
export function connectorOf(options: ConnectorOptions): buildConnector.connector {
  const secureContext = secureContextOf(options.endpoint, options.certificate);
  return (target, callback) => {
    // Node 24 ends the whole process when bytes come over a TLS connection that was begun with a signal that was aborted before.
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

/** Makes one connection, whose signal is its own. Returns the socket where undici opens it, as undici does (connect-times.ts). */
function connectOne(
  target: buildConnector.Options,
  options: ConnectorOptions & { readonly connect: buildConnector.connector },
  callback: buildConnector.Callback,
): void {
  const { endpoint, http2, guard, connect } = options;
  const done: buildConnector.Callback = (...result) => {
    const [error, socket] = result;
    if (error !== null) return callback(error, null);
    if (http2 && socket instanceof TLSSocket && socket.alpnProtocol !== "h2") {
      socket.destroy();
      const only = new Error("The server does not speak HTTP/2");
      return callback(Object.assign(only, { code: http1OnlyCode }), null);
    }
    if (http2) destroyWhenSilent(socket, options.silence ?? defaultSilence);
    socket.once("error", (broken) => {
      // UND_ERR_INFO: undici closed an idle connection, or the server said GOAWAY. Nothing is wrong.
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
      const place = { host: hostname, port: Number(port === "" ? (isPlain ? 80 : 443) : port) };
      const raw = await (proxy === undefined
        ? openSocket(place, options)
        : openTunnel(proxy, place, options));
      tellOpen(target);
      if (isPlain) done(null, raw);
      else connect({ ...target, httpSocket: guarded(raw, options.mayGoOn) }, done);
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
    // Explicit, because otherwise NODE_TLS_REJECT_UNAUTHORIZED would decide.
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

/** When something began and ended, in ms of `performance.now()`. */
export interface Times {
  readonly startMs: number;
  readonly endMs: number;
}

/** How long it took to connect to a server. */
export interface ConnectTimes extends Times {
  /** When the way to the server was open and TLS began; absent when it never was. */
  readonly connectedMs?: number;
  /** Code of the error, when it failed. */
  readonly code?: string;
}

const whenOpen = Symbol("whenOpen");

/** Says that the way to the server is open, for a connector that opens it before TLS begins. */
function tellOpen(target: object): void {
  const tell: unknown = whenOpen in target ? target[whenOpen] : undefined;
  if (typeof tell === "function") tell();
}

/** The same connector, which tells how long each connection took. */
export function timedConnector(
  connect: buildConnector.connector,
  onConnect: ((times: ConnectTimes) => void) | undefined,
): buildConnector.connector {
  if (onConnect === undefined) return connect;
  return (target, callback) => {
    const startMs = performance.now();
    let connected: { readonly connectedMs?: number } = {};
    const opened = (): void => {
      connected = { connectedMs: performance.now() };
    };
    const done: buildConnector.Callback = (...result) => {
      const [error] = result;
      const failure = error === null ? {} : { code: codeOf(error) || "Unknown" };
      onConnect({ startMs, ...connected, endMs: performance.now(), ...failure });
      return callback(...result);
    };
    // undici's connectors return the socket at once; where ours opens it before, it says when.
    const timed = { ...target, [whenOpen]: opened };
    const socket: unknown = connect(timed, done);
    if (socket instanceof Socket) socket.once("connect", opened);
  };
}
