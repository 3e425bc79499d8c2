import { Semaphore } from "../time/semaphore.ts";

const floor = 4;

/** Limits how many requests are in flight: additive increase on success, halved on 429 (at least 4). Spec: engine-facts.md 7. */
export class Window extends Semaphore {
  readonly #ceiling: number;

  constructor(ceiling: number) {
    super(ceiling);
    this.#ceiling = ceiling;
  }

  /** Halves the limit, after a 429. */
  shrink(): void {
    this.resize(Math.max(floor, Math.floor(this.size / 2)));
  }

  /** Raises the limit by one, after a success. */
  grow(): void {
    if (this.size < this.#ceiling) this.resize(this.size + 1);
  }
}
