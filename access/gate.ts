import { abortable } from "./abortable.ts";
import type { AuthorizedRequest, Requester } from "./requester.ts";
import type { TransportAnswer, TransportRequest, TransportStream } from "./transport.ts";

/**
 * A requester that can be shut. While it is blocked, requests fail at once with the error, and watches wait until it
 * opens again, so that nothing hammers a dead server and everything continues the moment it is back.
 */
export class Gate implements Requester {
  readonly server: string;
  readonly #inner: Requester;
  #blocked: Error | undefined;
  #opened = Promise.withResolvers<void>();
  #closed: Error | undefined;

  constructor(inner: Requester) {
    this.#inner = inner;
    this.server = inner.server;
  }

  block(reason: Error): void {
    if (this.#blocked === undefined) this.#opened = Promise.withResolvers();
    this.#blocked = reason;
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
    try {
      return await this.#inner.send(request, signal);
    } catch (error) {
      throw this.#explained(error, signal);
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
    try {
      return await this.#inner.stream(request, silenceMs, signal);
    } catch (error) {
      throw this.#explained(error, signal);
    }
  }

  #explained(error: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? error : (this.#closed ?? error);
  }
}
