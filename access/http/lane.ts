import type { Socket } from "node:net";

import { type buildConnector, type Dispatcher, Pool } from "undici";

import { abortable } from "../deadline.ts";
import { codeOf } from "../kube/api-error.ts";
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

/** How many requests a lane may have in flight; a server without HTTP/2 gets a connection for each. */
export const laneSize = 97;

export interface LaneOptions extends Omit<ConnectorOptions, "http2"> {
  /** Absent: everything may be sent at any time. */
  readonly mayWrite?: MayWrite;
  /** Called for each attempt to connect, successful or not. */
  readonly onConnect?: (times: ConnectTimes) => void;
}

/**
 * One HTTP/2 connection to one server, opened when it is first needed and again after it broke; ordinary connections when
 * the server speaks only HTTP/1.1.
 */
export class Lane {
  readonly #origin: string;
  readonly #options: LaneOptions;
  readonly #mayWrite: MayWrite;
  #pool: Pool;
  /** The pool, with a last look at each request. */
  #sender: Dispatcher;
  #http2: boolean;
  /** Every connection that is not closed yet, and when it is. */
  readonly #sockets = new Map<Socket, Promise<void>>();
  /** Something that changes the cluster was let through: it may still be on its way out. */
  #hasWritten = false;
  /** Streams that run in this lane, counted by its owner. */
  streams = 0;

  constructor(origin: string, options: LaneOptions) {
    this.#origin = origin;
    this.#options = options;
    this.#mayWrite = options.mayWrite ?? (() => true);
    this.#http2 = origin.startsWith("https:");
    this.#pool = this.#newPool();
    this.#sender = this.#guarded(this.#pool);
  }

  /** Rejects with undici's error, WriteRefusedError, or the reason of the signal. */
  request(
    options: Dispatcher.RequestOptions,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    // undici looks at the signal only when it has a connection.
    return this.#sent(options, () =>
      abortable(this.#sender.request({ ...options, signal }), signal),
    );
  }

  /** The same for an answer without end, which the signal ends at any time. `timeoutMs` is the limit until it begins. */
  stream(
    { timeoutMs, ...options }: Dispatcher.DispatchOptions & { readonly timeoutMs: number },
    reader: StreamReader,
    signal: AbortSignal,
  ): Promise<StreamedHead & { readonly body: StreamedBody }> {
    return this.#sent(options, async () => {
      const body = new StreamedAnswer(signal, reader);
      const head = await body.begin(this.#sender, options, timeoutMs);
      return { ...head, body };
    });
  }

  async #sent<Answer>(
    { method }: Pick<Dispatcher.DispatchOptions, "method">,
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    const pool = this.#pool;
    // Not even a connection is opened for it.
    assertMayWrite(method, this.#mayWrite);
    try {
      return await send();
    } catch (error) {
      // A pool that was replaced never had a connection, so nothing was sent through it.
      const wasReplaced = pool !== this.#pool && codeOf(error) === "UND_ERR_DESTROYED";
      if (codeOf(error) !== http1OnlyCode && !wasReplaced) throw error;
      // Nothing was sent. Such a server gets ordinary connections instead, as many as requests need.
      if (pool === this.#pool) {
        this.#http2 = false;
        this.#pool = this.#newPool();
        this.#sender = this.#guarded(this.#pool);
        // Whoever waits for it comes here as well. Its end is of no interest.
        void pool.destroy();
      }
      return send();
    }
  }

  /** Ends the connection at once, and waits until it is closed. */
  async destroy(why: Error): Promise<void> {
    const ends = [...this.#sockets.values()];
    // Its promise is not waited for: undici listens for the end of a socket only after it has destroyed it, and a TLS socket whose
    // connection broke a moment ago ends within that call.
    void this.#pool.destroy(why);
    // One that said GOAWAY belongs to no pool any more.
    for (const socket of this.#sockets.keys()) socket.destroy(why);
    await Promise.all(ends);
  }

  /** Ends the connection when what runs on it is done. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  /** A request may wait in the pool for its connection, and the whole process may be paused meanwhile. */
  #guarded(pool: Pool): Dispatcher {
    return pool.compose((dispatch) => (options, handler) => {
      const start = handler.onRequestStart?.bind(handler);
      // Called when the request is about to be written; what it throws becomes the request's error.
      handler.onRequestStart = (controller, context) => {
        assertMayWrite(options.method, this.#mayWrite);
        this.#hasWritten ||= options.method !== "GET";
        start?.(controller, context);
      };
      return dispatch(options, handler);
    });
  }

  /** Without a permit a connection only reads; one that has written is of no use any more. */
  #guard(): Pick<ConnectorOptions, "mayGoOn"> {
    const { mayWrite } = this.#options;
    if (mayWrite === undefined) return {};
    return { mayGoOn: () => !this.#hasWritten || mayWrite() };
  }

  #newPool(): Pool {
    const http2 = this.#http2;
    // Also for one connection: what waits for a connection that cannot be made is given up by a pool only.
    return new Pool(this.#origin, {
      allowH2: http2,
      connections: http2 ? 1 : laneSize,
      // More than one, or new requests hang behind old streams after a GOAWAY. Spec: engine-facts.md 2.
      pipelining: http2 ? 100 : 1,
      keepAliveTimeout: 80_000,
      keepAliveMaxTimeout: 80_000,
      maxHeaderSize: 16 * 1024,
      h2Options: {
        maxConcurrentStreams: 100,
        connectionWindowSize: 16 * 1024 * 1024,
        pingInterval: pingIntervalMs(this.#options.silence ?? defaultSilence),
      },
      connect: this.#known(
        pacedConnector(
          timedConnector(
            connectorOf({ ...this.#options, http2, ...this.#guard() }),
            this.#options.onConnect,
          ),
        ),
      ),
    });
  }

  #known(connect: buildConnector.connector): buildConnector.connector {
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
 * The same connector with a pause of 250 ms after a failed connection. After a GOAWAY undici keeps the requests that wait for a new connection
 * until nothing runs on the old one, and connects again at once, thousands of times a second: for the minute in which a stopping API
 * server still serves its watches.
 */
function pacedConnector(connect: buildConnector.connector): buildConnector.connector {
  let failedAt = -Infinity;
  return (target, callback) => {
    const done: buildConnector.Callback = (...result) => {
      if (result[0] !== null) failedAt = performance.now();
      return callback(...result);
    };
    const waitMs = failedAt + pauseMs - performance.now();
    if (waitMs > 0) setTimeout(() => connect(target, done), waitMs);
    else connect(target, done);
  };
}
