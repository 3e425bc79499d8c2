import { Pool, type Dispatcher } from "undici";

import { abortable } from "./abortable.ts";
import { ConnectionError } from "./api-error.ts";
import { codeOf, connectionErrorOf } from "./connection-failure.ts";
import { type ClientCertificate, connectorOf, http1OnlyCode } from "./connector.ts";
import { Deadline } from "./deadline.ts";
import type { Endpoint } from "./endpoint.ts";
import { surviveStreamErrors } from "./http2-errors.ts";
import type { Silence } from "./liveness.ts";
import type { RequestCounters } from "./request-counters.ts";
import { Window } from "./window.ts";

/** One HTTP request to an API server. `path` is below the server's path prefix and begins with `/`. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Kubernetes verb, for the counters. */
  readonly verb: string;
  /** How long the server may take until its answer begins. */
  readonly timeoutMs: number;
}

export interface TransportAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/** An answer whose body is read as it comes. */
export interface TransportStream {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly body: AsyncIterable<Buffer>;
}

export interface TransportOptions {
  readonly endpoint: Endpoint;
  readonly userAgent: string;
  readonly counters: RequestCounters;
  readonly certificate?: ClientCertificate;
  readonly silence?: Silence;
  /** Called when an established connection broke, or fell silent. */
  readonly onBroken?: (error: Error) => void;
}

// Spec: engine-facts.md, table C. 64 + 32 stays below the 100 streams that a server admits.
const maxRequestsInFlight = 64;
const maxStreams = 32;
const connectTimeoutMs = 5_000;
const progressTimeoutMs = 10_000;
const maxAnswerBytes = 32 * 1024 * 1024;

/**
 * One HTTP/2 connection to one API server under one TLS identity: deadlines, limits, counters, and notice of a dead
 * connection. Knows no credentials and repeats nothing. Throws `ConnectionError`, or the reason of the signal.
 */
export class Transport implements AsyncDisposable {
  readonly #options: TransportOptions;
  readonly #origin: string;
  readonly #prefix: string;
  readonly #requests = new Window(maxRequestsInFlight);
  readonly #streams = new Window(maxStreams);
  readonly #end = new AbortController();
  #pool: Pool;
  #http2: boolean;

  constructor(options: TransportOptions) {
    surviveStreamErrors();
    this.#options = options;
    const url = new URL(options.endpoint.server);
    this.#origin = url.origin;
    this.#prefix = url.pathname.replace(/\/$/, "");
    this.#http2 = url.protocol === "https:";
    this.#pool = this.#newPool();
  }

  /** Sends a request and reads the whole answer: at most 32 MiB, and 10 s without progress. */
  async send(request: TransportRequest, signal: AbortSignal): Promise<TransportAnswer> {
    using _place = await this.#requests.enter(signal);
    using deadline = new Deadline(signal, request.timeoutMs);
    const answer = await this.#open(request, deadline, progressTimeoutMs);
    try {
      const text = await this.#readAll(request, answer.body);
      if (answer.status === 429) this.#requests.shrink();
      else this.#requests.grow();
      return { ...answer, text };
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  /** Sends a request whose answer goes on and on; ends with an error after `silenceMs` without a byte. */
  async stream(
    request: TransportRequest,
    silenceMs: number,
    signal: AbortSignal,
  ): Promise<TransportStream & Disposable> {
    const place = await this.#streams.enter(signal);
    const deadline = new Deadline(signal, request.timeoutMs);
    const dispose = (): void => {
      place[Symbol.dispose]();
      deadline[Symbol.dispose]();
    };
    try {
      const answer = await this.#open(request, deadline, silenceMs);
      const body = this.#readOn(request, answer.body, signal);
      return { ...answer, body, [Symbol.dispose]: dispose };
    } catch (error) {
      dispose();
      throw error;
    }
  }

  /** Ends the connection at once; what is in flight fails as `closed`. */
  async [Symbol.asyncDispose](): Promise<void> {
    // Without it the end would wait for a connection that is being made to a server that does not answer.
    this.#end.abort();
    await this.#pool.destroy(Object.assign(new Error("Closed"), { code: "UND_ERR_CLOSED" }));
  }

  /** Takes no new requests and ends the connection when the running ones are done, at the latest after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    const late = setTimeout(() => void this[Symbol.asyncDispose](), timeoutMs);
    await this.#pool.close().catch(() => undefined);
    clearTimeout(late);
  }

  async #open(
    request: TransportRequest,
    deadline: Deadline,
    bodyTimeout: number,
  ): Promise<Omit<TransportStream, "body"> & { body: Dispatcher.ResponseData["body"] }> {
    const count = this.#options.counters.of(request.verb);
    count.requests += 1;
    count.sentBytes += request.body === undefined ? 0 : Buffer.byteLength(request.body);
    try {
      const answer = await this.#dispatch(request, deadline.signal, bodyTimeout);
      deadline.clear();
      const { statusCode: status, headers, body } = answer;
      if (status >= 300 && status < 400) {
        await body.dump().catch(() => undefined);
        throw new ConnectionError(
          "other",
          `${this.#options.endpoint.server} answered with a redirect`,
        );
      }
      const contentType = headerOf(headers["content-type"]) ?? "";
      return { status, contentType, retryAfter: headerOf(headers["retry-after"]), body };
    } catch (error) {
      throw this.#failure(error, deadline.outer);
    }
  }

  async #dispatch(
    request: TransportRequest,
    signal: AbortSignal,
    bodyTimeout: number,
  ): Promise<Dispatcher.ResponseData> {
    const pool = this.#pool;
    const options = {
      method: request.method,
      path: this.#prefix + request.path,
      headers: { ...request.headers, "user-agent": this.#options.userAgent },
      body: request.body ?? null,
      signal,
      headersTimeout: request.timeoutMs,
      bodyTimeout,
    };
    try {
      // undici looks at the signal only when it has a connection.
      return await abortable(pool.request(options), signal);
    } catch (error) {
      if (codeOf(error) !== http1OnlyCode) throw error;
      // Nothing was sent. Such a server gets ordinary connections instead, as many as requests need.
      if (pool === this.#pool) {
        this.#http2 = false;
        this.#pool = this.#newPool();
        // Empty by now; its end is of no interest.
        void pool.destroy();
      }
      return abortable(this.#pool.request(options), signal);
    }
  }

  #newPool(): Pool {
    const { endpoint, certificate, silence, onBroken = () => undefined } = this.#options;
    const http2 = this.#http2;
    return new Pool(this.#origin, {
      allowH2: http2,
      connections: http2 ? 1 : maxRequestsInFlight + maxStreams,
      // More than one, or new requests hang behind old streams after a GOAWAY. Spec: engine-facts.md 2.
      pipelining: http2 ? 100 : 1,
      keepAliveTimeout: 80_000,
      keepAliveMaxTimeout: 80_000,
      maxHeaderSize: 16 * 1024,
      h2Options: {
        maxConcurrentStreams: 100,
        connectionWindowSize: 16 * 1024 * 1024,
        pingInterval: 4_000,
      },
      connect: connectorOf({
        endpoint,
        http2,
        connectTimeoutMs,
        signal: this.#end.signal,
        onBroken,
        ...(certificate === undefined ? {} : { certificate }),
        ...(silence === undefined ? {} : { silence }),
      }),
    });
  }

  async #readAll(request: TransportRequest, body: AsyncIterable<Buffer>): Promise<string> {
    const count = this.#options.counters.of(request.verb);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.length;
      count.receivedBytes += chunk.length;
      if (bytes > maxAnswerBytes) {
        throw new ConnectionError(
          "other",
          `${this.#options.endpoint.server} answered more than 32 MiB`,
        );
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes).toString("utf8");
  }

  async *#readOn(
    request: TransportRequest,
    body: AsyncIterable<Buffer>,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const count = this.#options.counters.of(request.verb);
    try {
      for await (const chunk of body) {
        count.receivedBytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  #failure(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    return connectionErrorOf(error, this.#options.endpoint.server);
  }
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
