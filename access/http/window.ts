const floor = 4;

/**
 * Limits how many requests are in flight: additive increase on success, halved on 429 (at least 4). Waiters are served
 * in order of arrival. Spec: engine-facts.md 7.
 */
export class Window {
  #ceiling: number;
  #size: number;
  #used = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(ceiling: number) {
    this.#ceiling = ceiling;
    this.#size = ceiling;
  }

  /** Waits for a place, which ends when the result is disposed. Rejects with the reason of the signal. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#used >= this.#size) await this.#wait(signal);
    else this.#used += 1;
    let left = false;
    return {
      [Symbol.dispose]: () => {
        if (left) return;
        left = true;
        this.#used -= 1;
        this.#admit();
      },
    };
  }

  /** Sets a new limit. Requests in flight keep their places. */
  resize(ceiling: number): void {
    this.#ceiling = ceiling;
    this.#size = ceiling;
    this.#admit();
  }

  /** Halves the limit, after a 429. */
  shrink(): void {
    this.#size = Math.max(floor, Math.floor(this.#size / 2));
  }

  /** Raises the limit by one, after a success. */
  grow(): void {
    if (this.#size >= this.#ceiling) return;
    this.#size += 1;
    this.#admit();
  }

  #admit(): void {
    while (this.#used < this.#size) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#used += 1;
      next();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const admitted = (): void => {
        signal.removeEventListener("abort", aborted);
        resolve();
      };
      const aborted = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(admitted), 1);
        reject(signal.reason);
      };
      this.#waiting.push(admitted);
      signal.addEventListener("abort", aborted, { once: true });
    });
  }
}
