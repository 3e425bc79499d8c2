interface Waiting {
  readonly weight: number;
  readonly admit: () => void;
}

/** Limits what happens at the same time. Places are given in order of arrival. What weighs more than the whole size gets its place alone. */
export class Semaphore {
  readonly #waiting = new Set<Waiting>();
  #size: number;
  #used = 0;

  constructor(size: number) {
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  /** Sets a new size. Places that are taken stay taken. */
  resize(size: number): void {
    this.#size = size;
    this.#admit();
  }

  /** Weight of the places that are taken. */
  get used(): number {
    return this.#used;
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Waits for a place, which ends when the result is disposed. Rejects with the reason of the signal. */
  enter(signal: AbortSignal): Promise<Disposable> {
    return this.take(1, signal);
  }

  /** Like `enter`, for a place of another weight. */
  async take(weight: number, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.hasWaiting || !this.#fits(weight)) await this.#wait(weight, signal);
    else this.#used += weight;
    const place = new DisposableStack();
    place.defer(() => {
      this.#used -= weight;
      this.#admit();
    });
    return place;
  }

  #wait(weight: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        reject(signal.reason);
        // A heavy one at the head may have kept lighter ones waiting.
        this.#admit();
      };
      const admit = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const waiting: Waiting = { weight, admit };
      this.#waiting.add(waiting);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #fits(weight: number): boolean {
    return this.#used === 0 || this.#used + weight <= this.#size;
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.weight)) return;
      this.#waiting.delete(waiting);
      this.#used += waiting.weight;
      waiting.admit();
    }
  }
}
