import type { Clock } from "../time/clock.ts";
import { Semaphore } from "../time/semaphore.ts";

export interface ConnectTurnsOptions {
  /** How many attempts run at the same time. */
  readonly limit: number;
  /** How many of these may be retries of failed attempts. */
  readonly repeats: number;
  /** How long an attempt occupies its place at most, in ms: waiting for a silent server costs nothing. */
  readonly holdMs: number;
}

const defaults: ConnectTurnsOptions = { limit: 32, repeats: 16, holdMs: 2_000 };

/**
 * Limits how many spokes are being connected at the same time. A start with hundreds of spokes must not open all connections at once, and spokes that are
 * down must not delay the others. Places are given in order of arrival, at most half of them to retries.
 * Spec: cluster-inventory.md 6.4.
 */
export class ConnectTurns {
  readonly #clock: Clock;
  readonly #options: ConnectTurnsOptions;
  readonly #all: Semaphore;
  readonly #repeats: Semaphore;

  constructor(clock: Clock, options: ConnectTurnsOptions = defaults) {
    this.#clock = clock;
    this.#options = options;
    this.#all = new Semaphore(options.limit);
    this.#repeats = new Semaphore(options.repeats);
  }

  /** Waits for a place, then runs the work. Rejects like the work, or with the reason of the signal while it waits. */
  async take<Result>(
    work: () => Promise<Result>,
    isRepeat: boolean,
    signal: AbortSignal,
  ): Promise<Result> {
    using places = new DisposableStack();
    if (isRepeat) places.use(await this.#repeats.enter(signal));
    places.use(await this.#all.enter(signal));
    const { holdMs } = this.#options;
    const late = this.#clock.after(holdMs, () => places.dispose(), "background");
    try {
      return await work();
    } finally {
      late[Symbol.dispose]();
    }
  }
}
