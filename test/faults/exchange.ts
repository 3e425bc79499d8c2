import {
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { setTimeout as delay } from "node:timers/promises";

import type { Answer, Fault, Seen } from "./fault.ts";

/** One request on its way through a fault proxy. */
export interface Exchange {
  readonly request: Http2ServerRequest;
  readonly response: Http2ServerResponse;
  /** The whole body of a write; undefined when there is none to wait for. */
  readonly body: Buffer | undefined;
  readonly seen: Seen;
  readonly upstream: ClientHttp2Session;
  /** Told the status of the server's answer; false when it must not reach the client. */
  answered(status: number): boolean;
  /** Cuts the connection on both sides. */
  end(): void;
}

type PassingFault = Exclude<Fault, Answer | { readonly kind: "hang" }>;

/** Answers in the server's place. */
export function answerWith(answer: Answer, { request, response }: Exchange): void {
  const { status, headers = {}, body = "", isOpen = false } = answer;
  request.resume();
  if (response.destroyed) return;
  // The answer of nobody: the server never saw the request.
  response.writeHead(status, { ...headers });
  if (isOpen) response.write(body);
  else response.end(body);
}

/** Passes a request on to the server, and its answer back, with a fault on the way or without one. */
export async function sendOn(fault: PassingFault | undefined, exchange: Exchange): Promise<void> {
  const { response, upstream } = exchange;
  if (fault?.kind === "pass" && fault.delayMs !== undefined) await delay(fault.delayMs);
  // The client has given up, or the server is away.
  if (response.destroyed || upstream.destroyed || upstream.closed) {
    exchange.end();
    return;
  }
  const stream = askServer(fault, exchange);
  stream.on("error", () => undefined);
  stream.once("response", (headers) => deliver(fault, { stream, headers }, exchange));
  stream.once("close", () => {
    // Broken before its end: the client has to see that too, and not a short answer.
    if (!response.writableEnded && stream.rstCode !== constants.NGHTTP2_NO_ERROR) exchange.end();
  });
  response.once("close", () => {
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  });
}

function askServer(
  fault: PassingFault | undefined,
  { request, body, seen, upstream }: Exchange,
): ClientHttp2Stream {
  const path = fault?.kind === "pass" ? (fault.path ?? seen.path) : seen.path;
  const hasBody = body !== undefined && body.length > 0;
  const stream = upstream.request(headersUp(request, path), { endStream: !hasBody });
  if (hasBody) stream.end(body);
  else if (body === undefined) request.resume();
  return stream;
}

interface ServerAnswer {
  readonly stream: ClientHttp2Stream;
  readonly headers: IncomingHttpHeaders & { readonly ":status"?: number };
}

function deliver(
  fault: PassingFault | undefined,
  { stream, headers }: ServerAnswer,
  exchange: Exchange,
): void {
  const { response } = exchange;
  const status = headers[":status"] ?? 502;
  if (!exchange.answered(status) || fault?.kind === "reset") {
    exchange.end();
    return;
  }
  if (response.destroyed) return;
  const { ":status": _, ...others } = headers;
  const down = headersDown(others);
  // Its length would tell that something is missing.
  if (fault?.kind === "truncate") delete down["content-length"];
  response.writeHead(status, down);
  pass(fault, stream, response);
}

function pass(
  fault: PassingFault | undefined,
  stream: ClientHttp2Stream,
  response: Http2ServerResponse,
): void {
  if (fault?.kind === "truncate") truncate(stream, fault.bytes, response);
  else if (fault?.kind === "trickle") void trickle(stream, fault, response);
  else {
    if (fault?.kind === "record") stream.on("data", (chunk: Buffer) => fault.onBody(chunk));
    stream.pipe(response);
  }
}

function truncate(stream: ClientHttp2Stream, bytes: number, response: Http2ServerResponse): void {
  let left = bytes;
  stream.on("data", (chunk: Buffer) => {
    if (left <= 0) return;
    response.write(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) response.end();
  });
  stream.once("end", () => response.end());
}

async function trickle(
  stream: ClientHttp2Stream,
  { bytes, everyMs }: { readonly bytes: number; readonly everyMs: number },
  response: Http2ServerResponse,
): Promise<void> {
  try {
    for await (const chunk of stream) {
      if (!Buffer.isBuffer(chunk)) continue;
      for (let from = 0; from < chunk.length; from += bytes) {
        if (response.destroyed) return;
        response.write(chunk.subarray(from, from + bytes));
        await delay(everyMs);
      }
    }
    response.end();
  } catch {
    // Broken on the server's side: the end of its stream ends the connection.
  }
}

const hopByHop = [
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
  "host",
  "http2-settings",
];

function headersUp(request: Http2ServerRequest, path: string): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ":method": request.method, ":path": path };
  for (const [name, value] of Object.entries(request.headers)) {
    if (!name.startsWith(":") && !hopByHop.includes(name)) headers[name] = value;
  }
  return headers;
}

function headersDown(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const down: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(":") && !hopByHop.includes(name)) down[name] = value;
  }
  return down;
}
