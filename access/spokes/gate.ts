import type {
  AuthorizedRequest,
  Requester,
  TransportAnswer,
  TransportRequest,
  TransportStream,
} from "../http/request.ts";
import { ConnectionError } from "../kube/api-error.ts";
import type { Clock } from "../time/clock.ts";
import { abortable, Follower } from "../time/deadline.ts";

/**
 * A requester that can be blocked. While it is blocked, new requests and those in flight fail with the error, and new watches wait until
 * it opens, so that a dead server gets no requests and everything continues when it is back.
 */
export class Gate implements Requester {
  readonly server: string;
  readonly #inner: Requester;
  readonly #clock: Pick<Clock, "now">;
  readonly #onDoubt: () => void;
  #blocked: Error | undefined;
  #opened = Promise.withResolvers<void>();
  #closed: Error | undefined;
  /** The running watches, with the time of their last bytes by the monotonic clock. */
  readonly #running = new Map<Follower, number>();
  #heard = 0;
  readonly #countHeard = (): void => void (this.#heard += 1);
  readonly #inFlight = new Set<Follower>();

  /** `onDoubt` is called when a watch could not be opened; the answer may come from a load balancer and not from the server. */
  constructor(inner: Requester, clock: Pick<Clock, "now">, onDoubt: () => void = () => undefined) {
    this.#inner = inner;
    this.#clock = clock;
    this.#onDoubt = onDoubt;
    this.server = inner.server;
  }

  /** Count of answers and events that show that the server works. Bookmarks and opened watches do not count: the server needs no storage for them. */
  get heard(): number {
    return this.#heard;
  }

  /** A watch runs or is being opened, or a request has no answer yet. */
  get isAwaited(): boolean {
    return this.#running.size > 0 || this.#inFlight.size > 0;
  }

  /** Ends the watches without bytes after `since` with the error, because their events may never come. Their users open them again. */
  cut(reason: Error, since: number): void {
    for (const [watch, heardAt] of this.#running) if (heardAt < since) watch.abort(reason);
  }

  /** Ends the running watches and requests with the error. Later ones are not affected. */
  breakOff(reason: Error): void {
    this.cut(reason, Infinity);
    for (const request of this.#inFlight) request.abort(reason);
  }

  block(reason: Error): void {
    if (this.#blocked === undefined) this.#opened = Promise.withResolvers();
    this.#blocked = reason;
    // A write may wait for its answer much longer than its caller should wait to learn of the loss.
    for (const request of this.#inFlight) request.abort(reason);
  }

  open(): void {
    this.#blocked = undefined;
    this.#opened.resolve();
  }

  /** Closes the gate for ever: waiting and later requests fail with the error. */
  close(reason: Error): void {
    this.#closed ??= reason;
    this.open();
  }

  async send(request: AuthorizedRequest, signal: AbortSignal): Promise<TransportAnswer> {
    signal.throwIfAborted();
    const refusal = this.#closed ?? this.#blocked;
    if (refusal !== undefined) throw refusal;
    using follower = new Follower(signal);
    this.#inFlight.add(follower);
    try {
      const answer = await this.#inner.send(request, follower.signal);
      this.#heard += 1;
      return answer;
    } catch (error) {
      throw this.#closedOr(error, signal);
    } finally {
      this.#inFlight.delete(follower);
    }
  }

  async stream(
    request: TransportRequest,
    silenceMs: number,
    signal: AbortSignal,
  ): Promise<TransportStream & Disposable> {
    while (this.#blocked !== undefined) await abortable(this.#opened.promise, signal);
    signal.throwIfAborted();
    if (this.#closed !== undefined) throw this.#closed;
    const follower = new Follower(signal);
    const noteBytes = (): void => {
      if (this.#running.has(follower)) this.#running.set(follower, this.#clock.now());
    };
    this.#running.set(follower, Number.NEGATIVE_INFINITY);
    const dispose = (): void => {
      this.#running.delete(follower);
      follower[Symbol.dispose]();
    };
    try {
      const isWatch = request.verb === "watch";
      const onHeard = (): void => {
        if (!isWatch) this.#countHeard();
        noteBytes();
      };
      const answer = await this.#inner.stream({ ...request, onHeard }, silenceMs, follower.signal);
      if (isDoubtful(answer.status)) this.#onDoubt();
      onHeard();
      const end = (): void => {
        dispose();
        answer[Symbol.dispose]();
      };
      return { ...answer, onEvent: this.#countHeard, [Symbol.dispose]: end };
    } catch (error) {
      dispose();
      if (error instanceof ConnectionError) this.#onDoubt();
      throw this.#closedOr(error, signal);
    }
  }

  #closedOr(error: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? error : (this.#closed ?? error);
  }
}

/** A load balancer answers 502, 503 or 504 when it has no server, and 404 when it has no route; cluster-proxy answers 400 when it has no tunnel. */
function isDoubtful(status: number): boolean {
  return status >= 500 || status === 404 || status === 400;
}
