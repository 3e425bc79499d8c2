import type { IncomingHttpHeaders } from "node:http";

import type { Dispatcher } from "undici";

import type { Clock } from "../time/clock.ts";
import { timeoutError } from "../time/deadline.ts";

/** The body of an answer, for one reader. A reader that stops early ends the request with `return`. */
export interface StreamedBody extends AsyncIterableIterator<Buffer, undefined> {
  return(): Promise<IteratorResult<Buffer, undefined>>;
}

/** Callbacks for the bytes and the errors of an answer. */
export interface StreamReader {
  readonly onBytes: (bytes: number) => unknown;
  /** Makes the error for the reader of the body. */
  readonly explain: (error: unknown) => unknown;
}

export type StreamedHead = Pick<Dispatcher.ResponseData, "statusCode" | "headers">;
type Chunk = IteratorResult<Buffer, undefined>;
type End = { readonly kind: "done" } | { readonly kind: "failed"; readonly error: unknown };

// With more unread bytes the stream is paused, and the server waits.
const maxWaitingBytes = 8 * 1024;

/**
 * The answer to one request whose body has no end. Each connected spoke has about 25 of them, and undici's own readable takes several times the memory.
 */
export class StreamedAnswer implements Dispatcher.DispatchHandler, StreamedBody {
  readonly #clock: Clock;
  readonly #reader: StreamReader;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.#abort(this.#signal.reason);
  /** Pending `begin`. */
  #head: PromiseWithResolvers<StreamedHead> | undefined;
  #late: Disposable | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Buffer[] = [];
  #waitingBytes = 0;
  /** Pending `next`. */
  #awaited: PromiseWithResolvers<Chunk> | undefined;
  #end: End | undefined;

  /** `signal` ends the answer, also while its body is read. */
  constructor(clock: Clock, signal: AbortSignal, reader: StreamReader) {
    this.#clock = clock;
    this.#signal = signal;
    this.#reader = reader;
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /**
   * Sends the request. Resolves when the answer begins. Rejects with undici's error, the reason of the signal, or a TimeoutError
   * after `timeoutMs`.
   */
  begin(
    sender: Dispatcher,
    options: Dispatcher.DispatchOptions,
    timeoutMs: number,
  ): Promise<StreamedHead> {
    this.#head = Promise.withResolvers();
    const { promise } = this.#head;
    this.#late = this.#clock.after(timeoutMs, () => this.#abort(timeoutError()));
    if (this.#signal.aborted) this.#onAbort();
    else sender.dispatch(options, this);
    return promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#end !== undefined) controller.abort(abandonedError());
  }

  onResponseStart(_: unknown, statusCode: number, headers: IncomingHttpHeaders): void {
    // 1xx: the answer itself is still to come.
    if (statusCode < 200) return;
    // undici would keep the headers as long as the answer.
    if (this.#controller !== undefined) this.#controller.rawHeaders = null;
    this.#clear();
    this.#head?.resolve({ statusCode, headers });
    this.#head = undefined;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#end !== undefined) return;
    this.#reader.onBytes(chunk.length);
    if (this.#awaited !== undefined) {
      this.#answer({ done: false, value: chunk });
      return;
    }
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes > maxWaitingBytes) controller.pause();
  }

  onResponseEnd(): void {
    this.#finish({ kind: "done" });
  }

  onResponseError(_: unknown, error: unknown): void {
    this.#finish({ kind: "failed", error });
  }

  /** Must not be called before the previous call has settled. */
  next(): Promise<Chunk> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      this.#waitingBytes -= chunk.length;
      if (this.#waitingBytes === 0) this.#controller?.resume();
      return Promise.resolve({ done: false, value: chunk });
    }
    const end = this.#end;
    if (end === undefined) {
      this.#awaited = Promise.withResolvers();
      return this.#awaited.promise;
    }
    return end.kind === "done"
      ? Promise.resolve({ done: true, value: undefined })
      : Promise.reject(this.#reader.explain(end.error));
  }

  return(): Promise<Chunk> {
    const isRunning = this.#end === undefined;
    this.#chunks = [];
    this.#finish({ kind: "done" });
    if (isRunning) this.#controller?.abort(abandonedError());
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  // Chunks that nobody has read are dropped.
  #abort(error: unknown): void {
    this.#chunks = [];
    this.#finish({ kind: "failed", error });
    this.#controller?.abort(abandonedError());
  }

  #finish(end: End): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#clear();
    this.#signal.removeEventListener("abort", this.#onAbort);
    if (end.kind === "done") {
      this.#head?.reject(abandonedError());
      this.#head = undefined;
      this.#answer({ done: true, value: undefined });
      return;
    }
    this.#head?.reject(end.error);
    this.#head = undefined;
    this.#awaited?.reject(this.#reader.explain(end.error));
    this.#awaited = undefined;
  }

  #clear(): void {
    this.#late?.[Symbol.dispose]();
    this.#late = undefined;
  }

  #answer(chunk: Chunk): void {
    this.#awaited?.resolve(chunk);
    this.#awaited = undefined;
  }
}

function abandonedError(): Error {
  return new Error("The answer is not read any more");
}

/** The first 64 KiB of an answer, for the message of its error. */
export async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > 64 * 1024) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}
