import type { Dispatcher } from "undici";

import { type AnswerBody, answerLimits, readAnswer } from "../answer-limits.ts";
import { isJson } from "../json.ts";
import { concealed, ConnectionError, connectionErrorOf } from "../kube/api-error.ts";
import { mendHttp2Streams } from "../runtime/mend-http2-streams.ts";
import { abortable, Deadline, withTimeout } from "../time/deadline.ts";
import { Semaphore } from "../time/semaphore.ts";
import { Lane, laneSize } from "./lane.ts";
import { describeProxy } from "./proxy-url.ts";
import type {
  ServerTransport,
  TransportAnswer,
  TransportOptions,
  TransportRequest,
  TransportStream,
} from "./request.ts";
import type { StreamedBody, StreamReader } from "./streamed-answer.ts";
import { Window } from "./window.ts";
import { WriteRefusedError } from "./write-permit.ts";

// A server allows 100 streams on a connection. 40 of them may be watches, which stay open. Further watches get more connections.
// Spec: engine-facts.md, table C.
const streamsPerLane = 40;
// One place is reserved for a question.
const maxRequestsInFlight = laneSize - streamsPerLane - 1;
const maxStreams = 16 * streamsPerLane;
const connectTimeoutMs = 5_000;
const progressTimeoutMs = 10_000;
// Each of a spoke's 25 watches may hold so much. More lets spokes that lie fill the memory, less makes an answer from far away slow.
const spokeWindowBytes = 32 * 1024;

interface ReadAnswer extends Pick<TransportAnswer, "status" | "contentType"> {
  readonly body: AnswerBody;
}

interface OwnLane {
  readonly lane: Lane;
  /** Requests that run on this lane. */
  users: number;
}

type ReadableBody = Dispatcher.ResponseData["body"];

/** Sends a request in one of two ways. */
type Opening<Body> = (
  options: Omit<Dispatcher.DispatchOptions, "bodyTimeout">,
) => Promise<Pick<Dispatcher.ResponseData, "statusCode" | "headers"> & { readonly body: Body }>;

/**
 * Connects to one API server with one TLS identity, over HTTP/2 where possible. Applies deadlines and limits, counts requests, and notices a dead
 * connection. Many watches use several connections. Knows no credentials and repeats nothing.
 * Throws `ConnectionError`, `WriteRefusedError`, or the reason of the signal.
 */
export class Transport implements ServerTransport {
  readonly #options: TransportOptions;
  readonly #origin: string;
  readonly #host: string;
  readonly #prefix: string;
  readonly #requests = new Window(maxRequestsInFlight);
  readonly #streams = new Semaphore(maxStreams);
  readonly #end = new AbortController();
  readonly #counted: Disposable;
  /** Ordinary requests use the first lane, watches the first one with a free place. */
  readonly #lanes: [Lane, ...Lane[]];
  /** Separate lanes, by `ownConnection` of their requests. */
  readonly #ownLanes = new Map<object, OwnLane>();

  constructor(options: TransportOptions) {
    mendHttp2Streams();
    this.#options = options;
    const url = new URL(options.endpoint.server);
    this.#origin = url.origin;
    this.#host = url.host;
    this.#counted = options.counters.use(url.host);
    this.#prefix = url.pathname.replace(/\/$/, "");
    this.#lanes = [this.#newLane()];
  }

  /** Sends a request and reads the whole answer, within the limits of answer-limits.ts and 10 s without progress. */
  async send(request: TransportRequest, signal: AbortSignal): Promise<TransportAnswer> {
    using _place = request.isQuestion === true ? undefined : await this.#requests.enter(signal);
    using deadline = new Deadline(this.#options.clock, request.timeoutMs, signal);
    const { ownConnection } = request;
    await using own = ownConnection === undefined ? undefined : this.#ownLane(ownConnection);
    const lane = own?.lane ?? this.#lanes[0];
    const answer = await this.#open<ReadableBody>(request, signal, (options) =>
      lane.request({ ...options, bodyTimeout: progressTimeoutMs }, deadline.signal),
    );
    deadline.clear();
    try {
      const text = await this.#readAll(request, answer);
      if (answer.status === 429) this.#requests.shrink();
      else this.#requests.grow();
      return { ...answer, text };
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  /** Sends a request whose answer has no end. Fails after `silenceMs` without a byte. Disposing the result ends the request. */
  async stream(
    request: TransportRequest,
    silenceMs: number,
    signal: AbortSignal,
  ): Promise<TransportStream & Disposable> {
    const place = await this.#streams.enter(signal);
    const lane = this.#laneForStream();
    lane.streams += 1;
    let body: StreamedBody | undefined;
    let isOpen = true;
    const dispose = (): void => {
      if (!isOpen) return;
      isOpen = false;
      void body?.return();
      lane.streams -= 1;
      place[Symbol.dispose]();
    };
    const count = this.#options.counters.of(request.verb);
    const reader: StreamReader = {
      onBytes: (bytes) => {
        count.receivedBytes += bytes;
        request.onHeard?.();
      },
      explain: (error) => this.#failure(error, signal),
    };
    try {
      const { timeoutMs } = request;
      const answer = await this.#open<StreamedBody>(request, signal, (options) =>
        lane.stream({ ...options, timeoutMs, bodyTimeout: silenceMs }, reader, signal),
      );
      body = answer.body;
      const { answers } = this.#options;
      const hold: Pick<TransportStream, "hold"> =
        answers === undefined ? {} : { hold: (giveUp) => answers.open(giveUp) };
      return { ...answer, ...hold, [Symbol.dispose]: dispose };
    } catch (error) {
      dispose();
      throw error;
    }
  }

  /** Closes the connections at once. Running requests fail as `closed`. */
  async [Symbol.asyncDispose](): Promise<void> {
    // Aborts connections that are being opened, so that the disposal does not wait for a silent server.
    this.#end.abort();
    this.#counted[Symbol.dispose]();
    const own = [...this.#ownLanes.values()].map(({ lane }) => lane);
    await Promise.all([...this.#lanes, ...own].map(destroyLane));
  }

  /** Takes no new requests, and closes the connections when the running requests are done, at the latest after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    const limit = withTimeout(this.#options.clock, timeoutMs, this.#end.signal);
    const closed = Promise.all(this.#lanes.map((lane) => lane.close()));
    await abortable(closed, limit).catch(() => undefined);
    await this[Symbol.asyncDispose]();
  }

  async #open<Body extends ReadableBody | StreamedBody>(
    request: TransportRequest,
    signal: AbortSignal,
    open: Opening<Body>,
  ): Promise<Omit<TransportStream, "body"> & { readonly body: Body }> {
    const count = this.#options.counters.of(request.verb);
    count.requests += 1;
    count.sentBytes += request.body === undefined ? 0 : Buffer.byteLength(request.body);
    try {
      const answering = open({
        method: request.method,
        path: this.#prefix + request.path,
        headers: { ...request.headers, "user-agent": this.#options.userAgent },
        body: request.body ?? null,
        headersTimeout: request.timeoutMs,
      });
      const answer = await this.#countEnd(request, answering, signal);
      const { statusCode: status, headers, body } = answer;
      if (status >= 300 && status < 400) {
        await dropBody(body);
        throw new ConnectionError(
          "other",
          `${this.#options.endpoint.server} answered with a redirect`,
        );
      }
      const contentType = headerOf(headers["content-type"]) ?? "";
      return { status, contentType, retryAfter: headerOf(headers["retry-after"]), body };
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  /** Waits for the answer and counts it. A request that the caller aborted is not counted. */
  async #countEnd<Answer extends { readonly statusCode: number }>(
    { method, verb }: TransportRequest,
    answering: Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { clock, counters } = this.#options;
    const startedAt = clock.now();
    const count = (code: string): void => {
      const elapsedMs = clock.now() - startedAt;
      counters.countEnd({ host: this.#host, method, verb, code, elapsedMs });
    };
    try {
      const answer = await answering;
      count(String(answer.statusCode));
      return answer;
    } catch (error) {
      if (!signal.aborted) count("<error>");
      throw error;
    }
  }

  #ownLane(key: object): AsyncDisposable & { readonly lane: Lane } {
    // Without `onBroken`: the end of this lane does not concern the others.
    const own = this.#ownLanes.get(key) ?? { lane: this.#newLane({}), users: 0 };
    const { lane } = own;
    own.users += 1;
    this.#ownLanes.set(key, own);
    return {
      lane,
      [Symbol.asyncDispose]: async () => {
        own.users -= 1;
        if (own.users > 0) return;
        this.#ownLanes.delete(key);
        await destroyLane(lane);
      },
    };
  }

  #laneForStream(): Lane {
    const free = this.#lanes.find((lane) => lane.streams < streamsPerLane);
    if (free !== undefined) return free;
    const lane = this.#newLane();
    this.#lanes.push(lane);
    return lane;
  }

  #newLane(hooks: Pick<TransportOptions, "onBroken" | "onConnect"> = this.#options): Lane {
    const { clock, endpoint, certificate, silence, guard, mayWrite, answers } = this.#options;
    const { onBroken = () => undefined, onConnect } = hooks;
    return new Lane(this.#origin, {
      clock,
      endpoint,
      connectTimeoutMs,
      signal: this.#end.signal,
      onBroken,
      certificate,
      silence,
      guard,
      mayWrite,
      onConnect,
      ...(answers === undefined ? {} : { streamWindowBytes: spokeWindowBytes }),
    });
  }

  #readAll(
    { method, path, verb, answer: kind = "object" }: TransportRequest,
    { status, contentType, body }: ReadAnswer,
  ): Promise<string> {
    const count = this.#options.counters.of(verb);
    return readAnswer(body, {
      server: this.#options.endpoint.server,
      request: `${method} ${path.split("?", 1)[0] ?? ""}`,
      limits: answerLimits[status >= 400 && kind !== "status" ? "error" : kind],
      isJson: isJson(contentType),
      answers: this.#options.answers,
      onBytes: (bytes) => {
        count.receivedBytes += bytes;
      },
    });
  }

  #failure(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (error instanceof WriteRefusedError) return error;
    const { endpoint, conceals = false } = this.#options;
    const { server, proxy } = endpoint;
    const way = proxy === undefined ? "" : ` through the proxy ${describeProxy(proxy)}`;
    const failure = connectionErrorOf(error, `${server}${way}`);
    return conceals ? concealed(failure, server) : failure;
  }
}

async function dropBody(body: ReadableBody | StreamedBody): Promise<void> {
  if ("dump" in body) await body.dump().catch(() => undefined);
  else await body.return();
}

function destroyLane(lane: Lane): Promise<void> {
  return lane.destroy(Object.assign(new Error("Closed"), { code: "UND_ERR_CLOSED" }));
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
