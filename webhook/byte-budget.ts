import type { Clock } from "../access/time/clock.ts";
import { Semaphore } from "../access/time/semaphore.ts";

/** The part of the budget that one body takes. Disposing it gives the bytes back, once. */
export interface Room extends Disposable {
  /** Call it when the whole body has arrived. */
  arrived(): void;
}

const stuckMs = 60_000;

/**
 * Memory that request bodies may take at the same time. Requests that do not fit wait, and are served in the order of asking. A body larger
 * than the whole budget is served alone.
 */
export class ByteBudget {
  readonly #bytes: Semaphore;
  readonly #clock: Pick<Clock, "now">;
  /** Since when requests have waited while no body arrived. */
  #stuckSince: number | undefined;

  constructor(clock: Pick<Clock, "now">, total: number) {
    this.#bytes = new Semaphore(total);
    this.#clock = clock;
  }

  /** Waits for room. Rejects with the reason of the signal, and then holds nothing. The caller has to dispose the result. */
  async take(bytes: number, signal: AbortSignal): Promise<Room> {
    const taking = this.#bytes.take(bytes, signal);
    if (this.#bytes.hasWaiting) this.#stuckSince ??= this.#clock.now();
    const place = await taking;
    return {
      arrived: () => {
        this.#stuckSince = this.#bytes.hasWaiting ? this.#clock.now() : undefined;
      },
      [Symbol.dispose]: () => {
        place[Symbol.dispose]();
        if (this.#bytes.used === 0) this.#stuckSince = undefined;
      },
    };
  }

  /** True when requests had to wait for room and no body has arrived for a minute. */
  isStuck(): boolean {
    return this.#stuckSince !== undefined && this.#clock.now() - this.#stuckSince >= stuckMs;
  }
}
