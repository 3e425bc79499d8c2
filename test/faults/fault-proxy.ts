import { once } from "node:events";
import {
  connect,
  createSecureServer,
  type ClientHttp2Session,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
} from "node:http2";

import { createAuthority } from "../fleet/certificates.ts";
import { startDelayProxy, type DelayProxy } from "../fleet/delay-proxy.ts";
import { isRecord } from "../fleet/json-record.ts";
import { portOf } from "../fleet/ports.ts";
import { answerWith, sendOn, type Exchange } from "./exchange.ts";
import type { Fault, Rule, Seen } from "./fault.ts";
import type { Write, WriteLog } from "./write-log.ts";

/**
 * Stands between a controller and an API server: ends TLS, speaks HTTP/2 and HTTP/1.1, passes on what it is asked with the caller's token,
 * and does what its rules say. Bodies are streamed, watches pass. Client certificates do not pass.
 */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  /** What a client has to trust. */
  readonly caPem: string;
  /** The wire in front of it: delay, black hole, reset, refuse, and what was open now silent for good. */
  readonly line: DelayProxy;
  /** Connections that clients have open. */
  readonly openConnections: number;
  /** Most requests, watches apart, that were under way at the same time since the start or `resetCounts`. */
  readonly mostInFlight: number;
  /** Every request since then, writes too. */
  readonly requests: readonly Seen[];
  resetCounts(): void;
  /** The first rule that says something counts. Disposing takes the rule away. */
  inject(rule: Rule): Disposable;
  /** Cuts all connections. */
  cut(): void;
}

export interface FaultProxyOptions {
  /** How its writes are called in the log. */
  readonly cluster: string;
  /** The API server itself. */
  readonly server: string;
  readonly caPem: string;
  readonly log: WriteLog;
}

/** Starts a proxy on loopback with a certificate authority of its own. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const authority = createAuthority("fault-proxy-ca");
  const { certificatePem: cert, keyPem: key } = authority.issue({
    commonName: "fault-proxy",
    usage: "server",
    hosts: ["127.0.0.1", "localhost"],
  });
  const server = createSecureServer({
    cert,
    key,
    allowHTTP1: true,
    settings: { maxConcurrentStreams: 250, initialWindowSize: 4 * 1024 * 1024 },
  });
  const traffic = new Traffic(options);
  server.on("secureConnection", (socket) => traffic.opened(socket));
  server.on("sessionError", () => undefined);
  server.on("request", (request, response) => traffic.take(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  const line = await startDelayProxy(portOf(server.address()));
  return {
    url: line.url,
    caPem: authority.certificatePem,
    line,
    get openConnections() {
      return line.openConnections;
    },
    get mostInFlight() {
      return traffic.mostInFlight;
    },
    get requests() {
      return traffic.requests;
    },
    resetCounts: () => traffic.resetCounts(),
    inject: (rule) => traffic.inject(rule),
    cut: () => traffic.cut(),
    async [Symbol.asyncDispose]() {
      await line[Symbol.asyncDispose]();
      traffic.cut();
      server.close();
    },
  };
}

interface Connection {
  readonly number: number;
  readonly upstream: ClientHttp2Session;
  end(): void;
}

interface ClientSocket {
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
  on(event: "error", listener: () => void): unknown;
  readonly remotePort?: number | undefined;
}

class Traffic {
  readonly #options: FaultProxyOptions;
  /** By the client's port, which both protocols know. */
  readonly #connections = new Map<number, Connection>();
  readonly #rules = new Set<Rule>();
  #inFlight = 0;
  requests: Seen[] = [];
  mostInFlight = 0;

  constructor(options: FaultProxyOptions) {
    this.#options = options;
  }

  resetCounts(): void {
    this.requests = [];
    this.mostInFlight = this.#inFlight;
  }

  inject(rule: Rule): Disposable {
    this.#rules.add(rule);
    return { [Symbol.dispose]: () => void this.#rules.delete(rule) };
  }

  cut(): void {
    for (const connection of this.#connections.values()) connection.end();
  }

  /** Each client's connection has one of its own to the server, so that an end on one side is an end on the other. */
  opened(socket: ClientSocket): void {
    const { server, caPem, log } = this.#options;
    const upstream = connect(server, {
      ca: caPem,
      settings: { initialWindowSize: 4 * 1024 * 1024, enablePush: false },
    });
    const end = (): void => {
      upstream.destroy();
      socket.destroy();
    };
    const port = socket.remotePort ?? 0;
    this.#connections.set(port, { number: log.nextConnection(), upstream, end });
    upstream.on("error", () => undefined);
    upstream.once("close", () => socket.destroy());
    socket.on("error", () => undefined);
    socket.once("close", () => {
      this.#connections.delete(port);
      upstream.destroy();
    });
  }

  take(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const connection = this.#connections.get(request.socket.remotePort ?? 0);
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    if (connection === undefined || this.#options.log.isDead) {
      request.socket.on("error", () => undefined);
      connection?.end();
      return;
    }
    const seen = this.#seen(request);
    this.#count(seen, response);
    void this.#handle({ request, response, seen, connection });
  }

  async #handle({ request, response, seen, connection }: Handled): Promise<void> {
    const { log } = this.#options;
    const body = seen.isWrite ? await bodyOf(request) : undefined;
    // The client went away in the middle of it.
    if (seen.isWrite && body === undefined) return;
    const write = body === undefined ? undefined : this.#noted(seen, connection, body);
    // The process died at this very write: the server never hears of it.
    if (log.isDead) return connection.end();
    const answered = (status: number): boolean => {
      if (write !== undefined) log.answered(write, status);
      return !log.isDead;
    };
    const exchange = { request, response, body, seen, answered, ...connection };
    await carryOut(this.#faultFor(seen), exchange);
  }

  #noted({ method, path, headers }: Seen, { number }: Connection, body: Buffer): Write {
    const { log, cluster } = this.#options;
    const kept = method === "DELETE" ? body.toString("utf8") : "";
    const facts = { cluster, connection: number, method, path };
    return log.arrived({ ...facts, who: accountOf(headers), body: kept });
  }

  #faultFor(seen: Seen): Fault | undefined {
    for (const rule of this.#rules) {
      const fault = rule(seen);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  #seen({ method, url, headers }: Http2ServerRequest): Seen {
    return {
      method,
      path: url,
      headers,
      isWrite: ["POST", "PUT", "PATCH", "DELETE"].includes(method),
      isWatch: /[?&]watch=(?:true|1)/.test(url),
      number: this.requests.length + 1,
      atMs: performance.now(),
    };
  }

  #count(seen: Seen, response: Http2ServerResponse): void {
    this.requests.push(seen);
    if (seen.isWatch) return;
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    response.once("close", () => (this.#inFlight -= 1));
  }
}

interface Handled extends Pick<Exchange, "request" | "response" | "seen"> {
  readonly connection: Connection;
}

async function carryOut(fault: Fault | undefined, exchange: Exchange): Promise<void> {
  if (fault?.kind === "answer") answerWith(fault, exchange);
  else if (fault?.kind === "reset" && fault.when === "before") exchange.end();
  else if (fault?.kind !== "hang") await sendOn(fault, exchange);
}

/** The whole body; undefined when the client went away before its end. */
async function bodyOf(request: Http2ServerRequest): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  } catch {
    return undefined;
  }
  return request.aborted ? undefined : Buffer.concat(chunks);
}

/** The account that a ServiceAccount token names; the signature is the server's business. */
function accountOf(headers: IncomingHttpHeaders): string {
  const [, payload = ""] = (headers.authorization ?? "").split(".");
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    return isRecord(claims) ? String(claims["sub"]) : "";
  } catch {
    return "";
  }
}
