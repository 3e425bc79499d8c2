import type { StreamedBody } from "../../access/http/streamed-answer.ts";
import type { Clock } from "../../access/time/clock.ts";
import { timeoutError } from "../../access/time/deadline.ts";
import { expired } from "../simulator/answers.ts";
import type { EventStream } from "../simulator/watches.ts";
import { silentMs } from "./network.ts";
import type { VirtualTime } from "./virtual-time.ts";
import type { WatchFault } from "./weather.ts";

const slowMs = 6_000;
const expiredText = `${JSON.stringify({ type: "ERROR", object: expired().answer.body })}\n`;

type Chunk = IteratorResult<Buffer, undefined>;

export interface StreamOptions {
  readonly clock: Clock;
  readonly time: VirtualTime;
  /** Ends with an error after so long without a byte. */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
  /** Milliseconds until something that is sent now is there; undefined when the connection dies instead. */
  readonly wayMs: () => number | undefined;
  /** What goes wrong with something that is written now. */
  readonly faultOf: () => WatchFault | undefined;
  /** Makes the error for the reader. */
  readonly explain: (error: unknown) => unknown;
  readonly onBroken: () => void;
  readonly onHeard: () => void;
  /** Runs the callback of something that was sent to the replica, as soon as it can. */
  readonly receive: (callback: () => void) => void;
}

/** A watch between a cluster, which writes, and a replica, which reads: what is written comes later, in order, or never. */
export class SimulatedStream implements EventStream, StreamedBody {
  readonly #options: StreamOptions;
  readonly #onAbort = (): void => this.#finish({ error: this.#options.signal.reason });
  readonly #listeners: (() => void)[] = [];
  #chunks: Buffer[] = [];
  #awaited: PromiseWithResolvers<Chunk> | undefined;
  #over: { readonly error?: unknown } | undefined;
  #isClosed = false;
  /** Nothing that is written comes any more. */
  #isMute = false;
  #silence: Disposable | undefined;
  /** What is written later arrives later. */
  #arrivedAt = 0;

  constructor(options: StreamOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#listen();
  }

  // --- as the cluster sees it

  get destroyed(): boolean {
    return this.#isClosed;
  }

  begin(): void {
    // The transport answers.
  }

  write(text: string): void {
    if (this.#isMute) return;
    const fault = this.#options.faultOf();
    switch (fault) {
      case "watchSilent":
        this.#isMute = true;
        return;
      case "watchHalf":
        this.#close();
        this.#deliver(() => this.#take(Buffer.from(text.slice(0, text.length / 2))));
        this.#deliver(() => this.#finish({ error: new Error("The watch broke") }));
        return;
      case "watchExpired":
        this.#deliver(() => this.#take(Buffer.from(expiredText)));
        this.end();
        return;
      case "watchSlow":
      case undefined:
        this.#deliver(() => this.#take(Buffer.from(text)), fault === "watchSlow" ? slowMs : 0);
    }
  }

  end(): void {
    this.#close();
    if (this.#isMute) return;
    this.#deliver(() => this.#finish({}));
  }

  onClose(listener: () => void): void {
    this.#listeners.push(listener);
  }

  // --- as the replica sees it

  /** The cluster refused the watch with this text. */
  refuse(text: string): void {
    this.#take(Buffer.from(text));
    this.#finish({});
  }

  next(): Promise<Chunk> {
    const value = this.#chunks.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#over === undefined) {
      this.#awaited = Promise.withResolvers();
      return this.#awaited.promise;
    }
    if (!("error" in this.#over)) return Promise.resolve({ done: true, value: undefined });
    return Promise.reject(this.#options.explain(this.#over.error));
  }

  return(): Promise<Chunk> {
    this.#chunks = [];
    this.#finish({});
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #deliver(arrive: () => void, lateMs = 0): void {
    const { time, wayMs, onBroken, receive } = this.#options;
    const ms = wayMs();
    if (ms === undefined) {
      time.after(silentMs, () =>
        receive(() => {
          if (this.#over !== undefined) return;
          this.#finish({ error: timeoutError() });
          onBroken();
        }),
      );
      return;
    }
    this.#arrivedAt = Math.max(this.#arrivedAt, time.nowMs + ms + lateMs);
    time.after(this.#arrivedAt - time.nowMs, () => receive(arrive));
  }

  #take(chunk: Buffer): void {
    if (this.#over !== undefined) return;
    this.#listen();
    this.#options.onHeard();
    if (this.#awaited === undefined) {
      this.#chunks.push(chunk);
      return;
    }
    this.#awaited.resolve({ done: false, value: chunk });
    this.#awaited = undefined;
  }

  #listen(): void {
    this.#silence?.[Symbol.dispose]();
    const { clock, silenceMs } = this.#options;
    this.#silence = clock.after(silenceMs, () => this.#finish({ error: timeoutError() }));
  }

  #finish(over: { readonly error?: unknown }): void {
    if (this.#over !== undefined) return;
    this.#over = over;
    this.#silence?.[Symbol.dispose]();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#close();
    if ("error" in over) {
      this.#chunks = [];
      this.#awaited?.reject(this.#options.explain(over.error));
    } else this.#awaited?.resolve({ done: true, value: undefined });
    this.#awaited = undefined;
  }

  /** The cluster writes no more. */
  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const listener of this.#listeners) listener();
  }
}
