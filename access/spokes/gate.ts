import { abortable, Follower } from "../deadline.ts";
import type {
  AuthorizedRequest,
  Requester,
  TransportAnswer,
  TransportRequest,
  TransportStream,
} from "../http/request.ts";
import { ConnectionError } from "../kube/api-error.ts";

/**
 * A requester that can be shut. While it is blocked, requests fail at once with the error, those in flight as well, and watches wait until it
 * opens again, so that nothing hammers a dead server and everything continues the moment it is back.
 */
export class Gate implements Requester {
  readonly server: string;
  readonly #inner: Requester;
  readonly #onDoubt: () => void;
  #blocked: Error | undefined;
  #opened = Promise.withResolvers<void>();
  #closed: Error | undefined;
  /** What ends each watch that runs, and when anything came on it last, by `performance.now()`. */
  readonly #running = new Map<Follower, number>();
  #heard = 0;
  readonly #hear = (): void => void (this.#heard += 1);
  readonly #inFlight = new Set<Follower>();

  /** `onDoubt` is called when a watch could not be opened, by an answer that may be somebody else's in place of the server. */
  constructor(inner: Requester, onDoubt: () => void = () => undefined) {
    this.#inner = inner;
    this.#onDoubt = onDoubt;
    this.server = inner.server;
  }

  /** Grows with everything that shows that the server works: neither with a bookmark nor with a watch that was opened, for which it needs no storage. */
  get heard(): number {
    return this.#heard;
  }

  /** Something is being watched, or a watch is being opened, or a request has no answer yet. */
  get isAwaited(): boolean {
    return this.#running.size > 0 || this.#inFlight.size > 0;
  }

  /** Watches on which nothing came since then end with an error: what they wait for may never come. They are opened again when the gate is open. */
  cut(reason: Error, since: number): void {
    for (const [running, cameAt] of this.#running) if (cameAt < since) running.abort(reason);
  }

  /** What runs ends with an error, watches and requests; what comes later is not concerned. */
  breakOff(reason: Error): void {
    this.cut(reason, Infinity);
    for (const request of this.#inFlight) request.abort(reason);
  }

  block(reason: Error): void {
    if (this.#blocked === undefined) this.#opened = Promise.withResolvers();
    this.#blocked = reason;
    // A write may wait for its answer for longer than anybody should wait for the word of the loss.
    for (const request of this.#inFlight) request.abort(reason);
  }

  open(): void {
    this.#blocked = undefined;
    this.#opened.resolve();
  }

  /** For good: everything fails with the error, also what is waiting or in flight. */
  close(reason: Error): void {
    this.#closed ??= reason;
    this.open();
  }

  async send(request: AuthorizedRequest, signal: AbortSignal): Promise<TransportAnswer> {
    signal.throwIfAborted();
    const shut = this.#closed ?? this.#blocked;
    if (shut !== undefined) throw shut;
    using either = new Follower(signal);
    this.#inFlight.add(either);
    try {
      const answer = await this.#inner.send(request, either.signal);
      this.#heard += 1;
      return answer;
    } catch (error) {
      throw this.#explained(error, signal);
    } finally {
      this.#inFlight.delete(either);
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
    const following = new Follower(signal);
    const came = (): void => {
      if (this.#running.has(following)) this.#running.set(following, performance.now());
    };
    this.#running.set(following, Number.NEGATIVE_INFINITY);
    const dispose = (): void => {
      this.#running.delete(following);
      following[Symbol.dispose]();
    };
    try {
      const isWatch = request.verb === "watch";
      const onHeard = (): void => {
        if (!isWatch) this.#hear();
        came();
      };
      const answer = await this.#inner.stream({ ...request, onHeard }, silenceMs, following.signal);
      if (isDoubtful(answer.status)) this.#onDoubt();
      onHeard();
      const end = (): void => {
        dispose();
        answer[Symbol.dispose]();
      };
      return { ...answer, onEvent: this.#hear, [Symbol.dispose]: end };
    } catch (error) {
      dispose();
      if (error instanceof ConnectionError) this.#onDoubt();
      throw this.#explained(error, signal);
    }
  }

  #explained(error: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? error : (this.#closed ?? error);
  }
}

/** A load balancer without a server says 502, 503 or 504, one without a way to it 404: to everything, so that no watch is left to fall silent. */
function isDoubtful(status: number): boolean {
  return status >= 500 || status === 404;
}
