/**
 * The time limit of any work: a signal that aborts with `signal`, and with a TimeoutError after `timeoutMs`. Needs no disposal, and does not keep
 * the process alive. `undefined` is for work that goes on when its caller is aborted, such as a cleanup.
 * Two special limits stand below: `Deadline` for the head of an answer, and `TurnWaits.limit`, which stops while the work waits for its turn.
 */
export function withTimeout(timeoutMs: number, signal: AbortSignal | undefined): AbortSignal {
  if (signal === undefined) return AbortSignal.timeout(timeoutMs);
  if (signal.aborted) return signal;
  // Not AbortSignal.any: Node 24 loses the abort when garbage collection takes one of its signals (nodejs/node#65995).
  const limit = new Follower(signal);
  const end = (): void => {
    limit[Symbol.dispose]();
    limit.abort(timeoutError());
  };
  const timer = setTimeout(end, timeoutMs).unref();
  limit.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return limit.signal;
}

/** The reason of a signal whose time is over, with the name that the platform gives it. */
export function timeoutError(): DOMException {
  return new DOMException("The deadline has passed", "TimeoutError");
}

/**
 * Waits for the work until the signal aborts, and then rejects with the reason of the signal. The work itself goes on, and its result is ignored.
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

/**
 * A time limit for the first part of some work: the head of an answer has to come in time, its body may take longer. Aborts with a TimeoutError.
 * It has to be disposed when the work is done. Unlike `withTimeout` it leaves no timer behind, which matters for every request.
 */
export class Deadline extends Follower {
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number, outer: AbortSignal) {
    super(outer);
    this.#timeoutMs = timeoutMs;
    this.restart();
  }

  /** Begins the time limit anew, for example at each part of an answer. */
  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.abort(timeoutError()), this.#timeoutMs);
  }

  /** Ends the time limit. Then only the outer signal aborts. */
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
 * Counts work that waits for its turn in this process, such as a plugin that waits for its place. The limits of this object do not count that time, because
 * it is not the fault of the spoke.
 */
export class TurnWaits {
  readonly #outer: TurnWaits | undefined;
  readonly #limits = new Set<PausedLimit>();
  #waiting = 0;

  /** Each wait also counts in `outer`. */
  constructor(outer?: TurnWaits) {
    this.#outer = outer;
  }

  /** Starts a wait, which ends when the result is disposed. */
  begin(): Disposable {
    const outer = this.#outer?.begin();
    this.#waiting += 1;
    if (this.#waiting === 1) for (const limit of this.#limits) limit.pause();
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#waiting -= 1;
        if (this.#waiting === 0) for (const limit of this.#limits) limit.resume();
        outer?.[Symbol.dispose]();
      },
    };
  }

  /** A Follower that aborts with `reason` after `ms`, without the time of waits. It has to be disposed when the work is done. */
  limit(
    outer: AbortSignal,
    { ms, reason }: { readonly ms: number; readonly reason: unknown },
  ): Follower {
    const limit = new PausedLimit(outer, { ms, reason, onEnd: () => this.#limits.delete(limit) });
    this.#limits.add(limit);
    if (this.#waiting === 0) limit.resume();
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

  resume(): void {
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
