/**
 * Waits for the work until the signal aborts; then rejects with the reason of the signal. The work itself goes on, and its
 * result is ignored.
 */
export function abortable<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort))
      .catch(() => undefined);
  });
}

/**
 * An abort signal that follows another signal until it is disposed. Node keeps a socket in memory as long as the signal that it
 * was given lives; a Follower lives only as long as the socket.
 */
export class Follower implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #follow: () => void;

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    this.#follow = () => this.abort(outer.reason);
    if (outer.aborted) this.#follow();
    else outer.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts this signal and not the outer one. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#outer.removeEventListener("abort", this.#follow);
  }
}

/** An abort signal that follows another one and aborts with `reason` after `timeoutMs`; dispose it when the work is over. */
export class Deadline extends Follower {
  #timer: NodeJS.Timeout | undefined;

  /** Without a `reason` it aborts with a TimeoutError. */
  constructor(outer: AbortSignal, timeoutMs: number, reason?: Error) {
    super(outer);
    this.#timer = setTimeout(() => {
      this.abort(reason ?? new DOMException("The deadline has passed", "TimeoutError"));
    }, timeoutMs);
  }

  /** Ends the time limit; from now on only the outer signal aborts. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  override [Symbol.dispose](): void {
    this.clear();
    super[Symbol.dispose]();
  }
}

/**
 * Counts what waits for its turn in this process, such as a plugin for its place. The spoke is not to blame for that time: the limits
 * made here do not count it.
 */
export class TurnWaits {
  readonly #outer: TurnWaits | undefined;
  readonly #limits = new Set<PausedLimit>();
  #waiting = 0;

  /** A wait here is a wait in `outer`, too. */
  constructor(outer?: TurnWaits) {
    this.#outer = outer;
  }

  /** Begins a wait, which ends when the result is disposed. */
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

  /** A signal that follows `outer` and aborts with `reason` after `ms` without a wait; dispose it when the work is over. */
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
