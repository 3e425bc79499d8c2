import { Follower } from "../follower.ts";

/**
 * When something waits for its turn in this process, such as a plugin for its place among others. That is no time of the spoke's: limits
 * that begin here do not count it.
 */
export class TurnWaits {
  readonly #outer: TurnWaits | undefined;
  readonly #limits = new Set<PausedLimit>();
  #waiting = 0;

  /** What waits here waits in `outer`, too. */
  constructor(outer?: TurnWaits) {
    this.#outer = outer;
  }

  /** Something waits from now on, until the result is disposed. */
  begin(): Disposable {
    const outer = this.#outer?.begin();
    this.#waiting += 1;
    if (this.#waiting === 1) for (const limit of this.#limits) limit.pause();
    let over = false;
    return {
      [Symbol.dispose]: () => {
        if (over) return;
        over = true;
        this.#waiting -= 1;
        if (this.#waiting === 0) for (const limit of this.#limits) limit.go();
        outer?.[Symbol.dispose]();
      },
    };
  }

  /** A signal that follows another one and runs out, with this reason, after so many ms in which nothing waited; dispose it when the work is over. */
  limit(
    outer: AbortSignal,
    { ms, reason }: { readonly ms: number; readonly reason: unknown },
  ): Follower {
    const limit = new PausedLimit(outer, { ms, reason, onEnd: () => this.#limits.delete(limit) });
    this.#limits.add(limit);
    if (this.#waiting === 0) limit.go();
    return limit;
  }
}

class PausedLimit extends Follower {
  readonly #reason: unknown;
  readonly #onEnd: () => void;
  #leftMs: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    outer: AbortSignal,
    options: { readonly ms: number; readonly reason: unknown; readonly onEnd: () => void },
  ) {
    super(outer);
    this.#leftMs = options.ms;
    this.#reason = options.reason;
    this.#onEnd = options.onEnd;
  }

  go(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.abort(this.#reason), Math.max(0, this.#leftMs));
  }

  pause(): void {
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#since;
  }

  override [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#onEnd();
    super[Symbol.dispose]();
  }
}
