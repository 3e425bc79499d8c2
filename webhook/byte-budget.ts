import type { Clock } from "../access/time/clock.ts";

/** The part of the budget that one body takes. Disposing it gives the bytes back, once. */
export interface Room extends Disposable {
  /** Call it when the whole body has arrived. */
  arrived(): void;
}

interface Waiting {
  readonly bytes: number;
  readonly go: () => void;
}

const stuckMs = 60_000;

/**
 * Memory that request bodies may take at the same time. Requests that do not fit wait, and are served in the order of asking. A body larger
 * than the whole budget is served alone.
 */
export class ByteBudget {
  readonly #total: number;
  readonly #clock: Pick<Clock, "now">;
  readonly #queue = new Set<Waiting>();
  #free: number;
  /** Since when requests have waited while no body arrived. */
  #stuckSince: number | undefined;

  constructor(clock: Pick<Clock, "now">, total: number) {
    this.#total = total;
    this.#free = total;
    this.#clock = clock;
  }

  /** Waits for room. Rejects with the reason of the signal, and then holds nothing. The caller has to dispose the result. */
  async take(bytes: number, signal: AbortSignal): Promise<Room> {
    signal.throwIfAborted();
    if (this.#queue.size > 0 || !this.#fits(bytes)) await this.#wait(bytes, signal);
    else this.#free -= bytes;
    return this.#roomOf(bytes);
  }

  /** True when requests had to wait for room and no body has arrived for a minute. */
  isStuck(): boolean {
    return this.#stuckSince !== undefined && this.#clock.now() - this.#stuckSince >= stuckMs;
  }

  #wait(bytes: number, signal: AbortSignal): Promise<void> {
    this.#stuckSince ??= this.#clock.now();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      this.#queue.delete(waiting);
      reject(signal.reason);
      // A large request at the head of the queue may have kept smaller ones waiting.
      this.#admit();
    };
    const go = (): void => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const waiting: Waiting = { bytes, go };
    this.#queue.add(waiting);
    signal.addEventListener("abort", leave, { once: true });
    return promise;
  }

  #roomOf(bytes: number): Room {
    let isHeld = true;
    return {
      arrived: () => {
        this.#stuckSince = this.#queue.size > 0 ? this.#clock.now() : undefined;
      },
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#free += bytes;
        this.#admit();
        if (this.#free === this.#total) this.#stuckSince = undefined;
      },
    };
  }

  #fits(bytes: number): boolean {
    return bytes <= this.#free || this.#free === this.#total;
  }

  #admit(): void {
    for (const waiting of this.#queue) {
      if (!this.#fits(waiting.bytes)) return;
      this.#queue.delete(waiting);
      this.#free -= waiting.bytes;
      waiting.go();
    }
  }
}
