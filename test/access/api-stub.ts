import { once } from "node:events";
import { createSecureServer, type ServerHttp2Session } from "node:http2";
import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";

import type { KeyPair } from "../fleet/certificates.ts";
import { portOf } from "../fleet/ports.ts";

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  /** Common name of the client's certificate. */
  readonly client: string | undefined;
  readonly body: string;
  /** Names and values of the headers that impersonate, in their order. */
  readonly impersonation: readonly (readonly [name: string, value: string])[];
  /** Number of the connection, from 1. */
  readonly connection: number;
}

export interface StubAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Cut the connection instead of answering. */
  readonly reset?: boolean;
  /** Say nothing at all. */
  readonly hang?: boolean;
  /** Send the body, but do not end it. */
  readonly open?: boolean;
  /** Send the body again and again, this time apart, for as long as the connection lives. */
  readonly everyMs?: number;
  /** Send parts, from number 1 on, as fast as the client reads them, for as long as it does. */
  readonly endless?: (part: number) => string;
}

export interface StubOptions {
  readonly identity: KeyPair;
  readonly answer: (request: StubRequest) => StubAnswer;
  readonly http1?: boolean;
  /** Ask clients for a certificate of this authority. */
  readonly clientCaPem?: string;
  /** Default: a free one. */
  readonly port?: number;
}

/** An API server that does what a real one cannot be made to do. */
export interface ApiStub extends AsyncDisposable {
  readonly server: string;
  readonly port: number;
  readonly requests: readonly StubRequest[];
  readonly connections: number;
  /** How many bytes of one answer each HTTP/2 client takes before it reads them. */
  readonly windows: readonly (number | undefined)[];
  /** Says GOAWAY and takes no more connections; what runs goes on. */
  retire(): void;
}

// What the requests and responses of HTTP/1 and HTTP/2 have in common.
interface Asked {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: { readonly authorization?: string | undefined };
  readonly rawHeaders: readonly string[];
  readonly socket: { readonly remotePort?: number | undefined };
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  once(event: "end", listener: () => void): unknown;
}

interface Answering {
  writeHead(status: number, headers: Record<string, string>): unknown;
  write(text: string): unknown;
  end(): unknown;
  once(event: "drain" | "close", listener: () => void): unknown;
}

/** Starts a stub on a loopback port. */
export async function startApiStub(options: StubOptions): Promise<ApiStub> {
  const requests: StubRequest[] = [];
  const sockets = new Map<number, TLSSocket>();
  const sessions = new Set<ServerHttp2Session>();
  const listener = (request: Asked, response: Answering): void => {
    const from = request.socket.remotePort ?? 0;
    const socket = sockets.get(from);
    const chunks: Buffer[] = [];
    const seen = {
      method: request.method ?? "",
      path: request.url ?? "",
      authorization: request.headers.authorization,
      impersonation: impersonationOf(request.rawHeaders),
      client: nameOf(socket?.getPeerCertificate()),
      connection: [...sockets.keys()].indexOf(from) + 1,
      get body() {
        return Buffer.concat(chunks).toString("utf8");
      },
    };
    requests.push(seen);
    request.on("data", (chunk) => void chunks.push(chunk));
    request.once("end", () => reply(response, options.answer(seen), socket));
  };
  const server = serverOf(options, listener);
  server.on("secureConnection", (socket: TLSSocket) => {
    sockets.set(socket.remotePort ?? 0, socket);
    socket.on("error", () => undefined);
  });
  server.on("session", (session: ServerHttp2Session) => sessions.add(session));
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server.address());
  const closed = once(server, "close");
  return {
    server: `https://127.0.0.1:${port}`,
    port,
    requests,
    get connections() {
      return sockets.size;
    },
    get windows() {
      return [...sessions].map(({ remoteSettings }) => remoteSettings.initialWindowSize);
    },
    retire() {
      server.close();
      for (const session of sessions) session.goaway();
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) server.close();
      for (const socket of sockets.values()) socket.destroy();
      await closed;
    },
  };
}

function serverOf(
  { identity, http1, clientCaPem }: StubOptions,
  listener: (request: Asked, response: Answering) => void,
): ReturnType<typeof createServer> | ReturnType<typeof createSecureServer> {
  const tls = {
    key: identity.keyPem,
    cert: identity.certificatePem,
    ...(clientCaPem === undefined
      ? {}
      : { ca: clientCaPem, requestCert: true, rejectUnauthorized: false }),
  };
  return http1 === true
    ? createServer({ ...tls, ALPNProtocols: ["http/1.1"] }, listener)
    : // Answers of many MB that a client ends early stay for a while; with 10 MB of them it would take no more requests.
      createSecureServer({ ...tls, maxSessionMemory: 200 }, listener);
}

function nameOf(certificate: { readonly subject?: { readonly CN?: unknown } } | undefined) {
  const name = certificate?.subject?.CN;
  return typeof name === "string" ? name : undefined;
}

function reply(response: Answering, answer: StubAnswer, socket: TLSSocket | undefined): void {
  if (answer.hang === true) return;
  if (answer.reset === true) {
    socket?.destroy();
    return;
  }
  response.writeHead(answer.status ?? 200, {
    "content-type": "application/json",
    ...answer.headers,
  });
  response.write(answer.body ?? "{}");
  if (answer.endless !== undefined) sendParts(response, answer.endless);
  else if (answer.everyMs !== undefined) repeat(response, answer, socket);
  else if (answer.open !== true) response.end();
}

function repeat(response: Answering, answer: StubAnswer, socket: TLSSocket | undefined): void {
  const timer = setInterval(() => response.write(answer.body ?? "{}"), answer.everyMs);
  socket?.once("close", () => clearInterval(timer));
}

function sendParts(response: Answering, partOf: (part: number) => string): void {
  let isClosed = false;
  response.once("close", () => (isClosed = true));
  let part = 0;
  const send = (): void => {
    if (isClosed) return;
    part += 1;
    // Others have their turn after each part.
    if (response.write(partOf(part)) === true) setImmediate(send);
    else response.once("drain", send);
  };
  send();
}

function impersonationOf(raw: readonly string[]): StubRequest["impersonation"] {
  return raw.flatMap((name, at) =>
    at % 2 === 0 && /^impersonate-/i.test(name)
      ? [[name.toLowerCase(), raw[at + 1] ?? ""] as const]
      : [],
  );
}
