import type { Clock } from "./clock.ts";

/**
 * The time limit of any work: a signal that aborts with `signal`, and with a TimeoutError after `timeoutMs`. Needs no disposal, and does not keep
 * the process alive. `undefined` is for work that goes on when its caller is aborted, such as a cleanup.
 * Three special limits stand below: `Deadline` ends with its work, `TurnWaits.limit` stops while the work waits for its turn, and `outlasting` begins when its signal aborts.
 */
export function withTimeout(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): AbortSignal {
  if (signal?.aborted === true) return signal;
  const limit = new Follower(...(signal === undefined ? [] : [signal]));
  const timer = clock.after(timeoutMs, () => limit.abort(timeoutError()), "background");
  limit.signal.addEventListener("abort", () => timer[Symbol.dispose](), { once: true });
  return limit.signal;
}

/** Whether a signal has aborted. A call, because the compiler takes an earlier answer of the property for the present one. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
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

/** Takes work that has begun. Each call of the result returns that work. It may never be called: then an error of the work is dropped, and is no unhandled rejection. */
export function begun<Result>(work: Promise<Result>): () => Promise<Result> {
  work.catch(() => undefined);
  return () => work;
}

/**
 * An abort signal that follows the first of some signals that aborts, until it is disposed. It is what this program has in place of AbortSignal.any, of which
 * Node 24 loses the abort when garbage collection takes one of its signals (nodejs/node#65995). Node keeps a socket in memory as long as the signal that it
 * was given lives; a Follower lives only as long as the socket.
 */
export class Follower implements Disposable {
  readonly #controller = new AbortController();
  readonly #outers: readonly AbortSignal[];
  readonly #follow: () => void;

  constructor(...outers: readonly AbortSignal[]) {
    this.#outers = outers;
    this.#follow = () => this.abort(outers.find(({ aborted }) => aborted)?.reason);
    if (outers.some(({ aborted }) => aborted)) this.#follow();
    else for (const outer of outers) outer.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts this signal and not the outer ones. */
  abort(reason?: unknown): void {
    this.#leave();
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#leave();
  }

  #leave(): void {
    for (const outer of this.#outers) outer.removeEventListener("abort", this.#follow);
  }
}

/**
 * A time limit that is disposed when its work is done, and keeps the process alive until then. Aborts with a TimeoutError. `clear` ends the limit after the first part of the work:
 * the head of an answer has to come in time, its body may take longer. Unlike `withTimeout` it leaves no timer behind, which matters for every request.
 */
export class Deadline extends Follower {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  #timer: Disposable | undefined;

  constructor(clock: Clock, timeoutMs: number, outer: AbortSignal) {
    super(outer);
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.restart();
  }

  /** Begins the time limit anew, for example at each part of an answer. */
  restart(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.after(this.#timeoutMs, () => this.abort(timeoutError()));
  }

  /** Ends the time limit. Then only the outer signal aborts. */
  clear(): void {
    this.#timer?.[Symbol.dispose]();
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
  readonly #clock: Clock;
  readonly #outer: TurnWaits | undefined;
  readonly #limits = new Set<PausedLimit>();
  #waiting = 0;

  /** Each wait also counts in `outer`. */
  constructor(clock: Clock, outer?: TurnWaits) {
    this.#clock = clock;
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
    const onEnd = (): void => void this.#limits.delete(limit);
    const limit = new PausedLimit(outer, { clock: this.#clock, ms, reason, onEnd });
    this.#limits.add(limit);
    if (this.#waiting === 0) limit.resume();
    return limit;
  }
}

interface PausedLimitOptions {
  readonly clock: Clock;
  readonly ms: number;
  readonly reason: unknown;
  readonly onEnd: () => void;
}

class PausedLimit extends Follower {
  readonly #options: PausedLimitOptions;
  #leftMs: number;
  #since = 0;
  #timer: Disposable | undefined;

  constructor(outer: AbortSignal, options: PausedLimitOptions) {
    super(outer);
    this.#options = options;
    this.#leftMs = options.ms;
  }

  resume(): void {
    const { clock, reason } = this.#options;
    this.#since = clock.now();
    this.#timer = clock.after(Math.max(0, this.#leftMs), () => this.abort(reason));
  }

  pause(): void {
    this.#timer?.[Symbol.dispose]();
    this.#leftMs -= this.#options.clock.now() - this.#since;
  }

  override [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#options.onEnd();
    super[Symbol.dispose]();
  }
}

/** A signal that is aborted a time after another one, for work that should still end. To be disposed when the work ends. */
export function outlasting(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  let timer: Disposable | undefined;
  const end = (): void => {
    timer = clock.after(ms, () => controller.abort(signal.reason));
  };
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      signal.removeEventListener("abort", end);
      timer?.[Symbol.dispose]();
    },
  };
}
