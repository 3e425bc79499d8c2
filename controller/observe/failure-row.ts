import { ApiError } from "../../access/kube/api-error.ts";

// With the pauses between them three to six seconds: longer than a server needs that knows nobody's rights yet after its start.
const lastingLength = 4;
// Longer than the pause between two attempts: a watch that has failed so long ago has worked since, also when there was nothing to say.
const apartMs = 90_000;
// What ends a connection says nothing of the time before; an answer may have been waited for.
const cutApartMs = 15_000;
// Where lists are given but no watches, each look makes the next row.
const newsMs = 60_000;

/** Failures of one watch in a row. */
export class FailureRow {
  #length = 0;
  /** Without those after which it has probably worked. */
  #recent = 0;
  #lastAt = -Infinity;
  #toldAt = -Infinity;

  /** Failures since it was last seen to work. */
  get length(): number {
    return this.#length;
  }

  /** The watch has failed just now. */
  add(error: unknown): void {
    const now = performance.now();
    const apart = error instanceof ApiError ? apartMs : cutApartMs;
    if (now - this.#lastAt > apart) this.#begin();
    this.#length += 1;
    this.#recent += 1;
    this.#lastAt = now;
  }

  /** Whether somebody is to look, now that the watch has failed again: when the row has become a long one, and once a minute at most while it goes on. */
  isNews(): boolean {
    const now = performance.now();
    if (this.#recent < lastingLength || now - this.#toldAt < newsMs) return false;
    this.#toldAt = now;
    return true;
  }

  /** The watch works. */
  end(): void {
    this.#length = 0;
    this.#begin();
  }

  #begin(): void {
    this.#recent = 0;
  }
}
