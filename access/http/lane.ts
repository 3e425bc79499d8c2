import type { Socket } from "node:net";

import { type buildConnector, type Dispatcher, Pool } from "undici";

import { codeOf } from "../kube/api-error.ts";
import type { Clock } from "../time/clock.ts";
import { abortable } from "../time/deadline.ts";
import {
  connectorOf,
  type ConnectorOptions,
  type ConnectTimes,
  http1OnlyCode,
  timedConnector,
} from "./connector.ts";
import { defaultSilence, pingIntervalMs } from "./liveness.ts";
import {
  StreamedAnswer,
  type StreamedBody,
  type StreamedHead,
  type StreamReader,
} from "./streamed-answer.ts";
import { assertMayWrite, type MayWrite } from "./write-permit.ts";

/** How many requests a lane may have in flight. A server without HTTP/2 gets a connection for each of them. */
export const laneSize = 97;

export interface LaneOptions extends Omit<ConnectorOptions, "http2"> {
  /** Absent: everything may be sent at any time. */
  readonly mayWrite?: MayWrite;
  /** How much of one answer the server may send while nobody reads it; default 256 KiB. A far server sends a long answer faster with more. */
  readonly streamWindowBytes?: number;
  /** Called for each attempt to connect, successful or not. */
  readonly onConnect?: (times: ConnectTimes) => void;
}

/**
 * One HTTP/2 connection to one server, opened for the first request and again after it broke. A server that speaks only HTTP/1.1 gets several
 * connections.
 */
export class Lane {
  readonly #origin: string;
  readonly #options: LaneOptions;
  readonly #mayWrite: MayWrite;
  #pool: Pool;
  /** The pool, which checks the write permit before each request. */
  #sender: Dispatcher;
  #http2: boolean;
  /** Each open connection, with a promise that resolves when it is closed. */
  readonly #sockets = new Map<Socket, Promise<void>>();
  /** A request that changes the cluster was written: its bytes may still be on their way out. */
  #hasWritten = false;
  /** Streams that run on this lane, counted by its owner. */
  streams = 0;

  constructor(origin: string, options: LaneOptions) {
    this.#origin = origin;
    this.#options = options;
    this.#mayWrite = options.mayWrite ?? (() => true);
    this.#http2 = origin.startsWith("https:");
    this.#pool = this.#newPool();
    this.#sender = this.#guardPool(this.#pool);
  }

  /** Rejects with undici's error, WriteRefusedError, or the reason of the signal. */
  request(
    options: Dispatcher.RequestOptions,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    // undici checks the signal only once it has a connection.
    return this.#sendWithFallback(options, () =>
      abortable(this.#sender.request({ ...options, signal }), signal),
    );
  }

  /** The same for an answer without end. `timeoutMs` is the limit until the answer begins; the signal ends it at any time. */
  stream(
    { timeoutMs, ...options }: Dispatcher.DispatchOptions & { readonly timeoutMs: number },
    reader: StreamReader,
    signal: AbortSignal,
  ): Promise<StreamedHead & { readonly body: StreamedBody }> {
    return this.#sendWithFallback(options, async () => {
      const body = new StreamedAnswer(this.#options.clock, signal, reader);
      const head = await body.begin(this.#sender, options, timeoutMs);
      return { ...head, body };
    });
  }

  /** Sends a request, and once more over HTTP/1.1 when the server does not speak HTTP/2. */
  async #sendWithFallback<Answer>(
    { method }: Pick<Dispatcher.DispatchOptions, "method">,
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    const pool = this.#pool;
    // Without the permit not even a connection is opened.
    assertMayWrite(method, this.#mayWrite);
    try {
      return await send();
    } catch (error) {
      // A replaced pool never had a connection, so that it has sent nothing.
      const wasReplaced = pool !== this.#pool && codeOf(error) === "UND_ERR_DESTROYED";
      if (codeOf(error) !== http1OnlyCode && !wasReplaced) throw error;
      // Nothing was sent. The server gets one connection for each request instead.
      if (pool === this.#pool) {
        this.#http2 = false;
        this.#pool = this.#newPool();
        this.#sender = this.#guardPool(this.#pool);
        // Requests that wait for the old pool fail and come here as well. Nothing waits for its end.
        void pool.destroy();
      }
      return send();
    }
  }

  /** Closes the connections at once, and waits until they are closed. */
  async destroy(why: Error): Promise<void> {
    const ends = [...this.#sockets.values()];
    // Not awaited: undici listens for the close of a socket only after destroying it, which is too late for a TLS socket that closes within that call.
    void this.#pool.destroy(why);
    // A connection that received GOAWAY belongs to no pool any more.
    for (const socket of this.#sockets.keys()) socket.destroy(why);
    await Promise.all(ends);
  }

  /** Closes the connections when their requests are done. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  /** Checks the permit again before each request is written: it may have waited for a connection, or the process may have been paused. */
  #guardPool(pool: Pool): Dispatcher {
    return pool.compose((dispatch) => (options, handler) => {
      const start = handler.onRequestStart?.bind(handler);
      // Called immediately before the request is written. Its exception becomes the error of the request.
      handler.onRequestStart = (controller, context) => {
        assertMayWrite(options.method, this.#mayWrite);
        this.#hasWritten ||= options.method !== "GET";
        start?.(controller, context);
      };
      return dispatch(options, handler);
    });
  }

  /** Without the permit, a connection that has written is destroyed. One that only reads may continue. */
  #connectionGuard(): Pick<ConnectorOptions, "mayGoOn"> {
    const { mayWrite } = this.#options;
    if (mayWrite === undefined) return {};
    return { mayGoOn: () => !this.#hasWritten || mayWrite() };
  }

  #newPool(): Pool {
    const http2 = this.#http2;
    // A pool also for one connection: only a pool fails the requests that wait for a connection that cannot be opened.
    return new Pool(this.#origin, {
      allowH2: http2,
      connections: http2 ? 1 : laneSize,
      // More than one, or new requests hang behind old streams after a GOAWAY. Spec: engine-facts.md 2.
      pipelining: http2 ? 100 : 1,
      keepAliveTimeout: 80_000,
      keepAliveMaxTimeout: 80_000,
      maxHeaderSize: 16 * 1024,
      initialWindowSize: this.#options.streamWindowBytes ?? 256 * 1024,
      h2Options: {
        maxConcurrentStreams: 100,
        connectionWindowSize: 16 * 1024 * 1024,
        pingInterval: pingIntervalMs(this.#options.silence ?? defaultSilence),
      },
      connect: this.#trackSockets(
        pacedConnector(
          timedConnector(
            connectorOf({ ...this.#options, http2, ...this.#connectionGuard() }),
            this.#options,
          ),
          this.#options.clock,
        ),
      ),
    });
  }

  #trackSockets(connect: buildConnector.connector): buildConnector.connector {
    return (target, callback) =>
      connect(target, (...result) => {
        const [error, socket] = result;
        if (error === null) {
          const { promise, resolve } = Promise.withResolvers<void>();
          socket.once("close", () => {
            this.#sockets.delete(socket);
            resolve();
          });
          this.#sockets.set(socket, promise);
        }
        return callback(...result);
      });
  }
}

const pauseMs = 250;

/**
 * Wraps a connector so that it pauses 250 ms after a failed connection. After a GOAWAY undici reconnects without a pause, thousands of times a second,
 * until the old connection has no requests: for the minute in which a stopping API server still serves its watches.
 */
function pacedConnector(connect: buildConnector.connector, clock: Clock): buildConnector.connector {
  let failedAt = -Infinity;
  return (target, callback) => {
    const done: buildConnector.Callback = (...result) => {
      if (result[0] !== null) failedAt = clock.now();
      return callback(...result);
    };
    const waitMs = failedAt + pauseMs - clock.now();
    if (waitMs > 0) clock.after(waitMs, () => connect(target, done));
    else connect(target, done);
  };
}
