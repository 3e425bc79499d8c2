export interface PaceOptions {
  /** What may be done at once. */
  readonly burst: number;
  /** What may be done in a second after that, on average. */
  readonly perSecond: number;
}

/** Limits how much is done: a burst at once, and then so much in a second. Unlike a TokenBucket it owes: whoever did too much has to wait for all of it. */
export class Pace {
  readonly #options: PaceOptions;
  /** When everything that was done is paid for. */
  #paidAt = Number.NEGATIVE_INFINITY;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Notes work. Returns how long to wait before more of it, in ms. `now` is in ms of a monotonic clock. */
  take(now: number, work: number): number {
    const { burst, perSecond } = this.#options;
    this.#paidAt = Math.max(this.#paidAt, now) + (work * 1_000) / perSecond;
    return Math.max(0, this.#paidAt - now - (burst * 1_000) / perSecond);
  }
}
