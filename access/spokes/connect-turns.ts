import { Window } from "../http/window.ts";

export interface ConnectTurnsOptions {
  /** Attempts at the same time. */
  readonly limit: number;
  /** How many of them may be repetitions of attempts that failed. */
  readonly repeats: number;
  /** How long an attempt is one of them at most, in ms: one that only waits for a silent server costs nothing. */
  readonly holdMs: number;
}

const usual: ConnectTurnsOptions = { limit: 32, repeats: 16, holdMs: 2_000 };

/**
 * Who connects to a spoke now, and who waits: a start with hundreds of spokes must not open all connections at once, and
 * spokes that are down must not keep others waiting. Whoever came first is served first; repetitions have half of the places.
 * Spec: cluster-inventory.md 6.4.
 */
export class ConnectTurns {
  readonly #options: ConnectTurnsOptions;
  readonly #all: Window;
  readonly #repeats: Window;

  constructor(options: ConnectTurnsOptions = usual) {
    this.#options = options;
    this.#all = new Window(options.limit);
    this.#repeats = new Window(options.repeats);
  }

  /** Does the work when it is its turn. Rejects as the work does, or with the reason of the signal while it waits. */
  async take<Result>(
    work: () => Promise<Result>,
    isRepeat: boolean,
    signal: AbortSignal,
  ): Promise<Result> {
    using places = new DisposableStack();
    if (isRepeat) places.use(await this.#repeats.enter(signal));
    places.use(await this.#all.enter(signal));
    const late = setTimeout(() => places.dispose(), this.#options.holdMs).unref();
    try {
      return await work();
    } finally {
      clearTimeout(late);
    }
  }
}
