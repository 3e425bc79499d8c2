export interface TokenBucketOptions {
  /** How many tokens may be taken at once. */
  readonly burst: number;
  /** Time in which one more token comes, in ms. */
  readonly intervalMs: number;
}

/** Limits how often something happens: a burst at once, and then once in an interval. `now` is in ms of a monotonic clock. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #fullAt: number;

  /** Full from a time on; default: at once. */
  constructor(options: TokenBucketOptions, fullAt = -Infinity) {
    this.#options = options;
    this.#fullAt = fullAt;
  }

  /** When the bucket is full again, if nothing takes a token before. */
  get fullAt(): number {
    return this.#fullAt;
  }

  /** Milliseconds until the bucket has a number of tokens. */
  untilMs(now: number, tokens = 1): number {
    const { burst, intervalMs } = this.#options;
    return Math.max(0, this.#fullAt - now - (burst - tokens) * intervalMs);
  }

  /** Takes a token. An empty bucket is then empty from now on, and owes nothing. */
  take(now: number): void {
    const { burst, intervalMs } = this.#options;
    this.#fullAt = Math.min(Math.max(this.#fullAt, now) + intervalMs, now + burst * intervalMs);
  }
}
