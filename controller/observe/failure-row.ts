// With the pauses between them three to six seconds: longer than a server needs that knows nobody's rights yet after its start.
const lastingLength = 4;
// Longer than the pause between two attempts: a watch that has failed so long ago has worked since, also when there was nothing to say.
const apartMs = 90_000;

/** Failures of one watch in a row. */
export class FailureRow {
  #length = 0;
  #lastAt = -Infinity;

  get length(): number {
    return this.#length;
  }

  /** With its last failure the row has become one that is worth a look. */
  get hasBecomeLasting(): boolean {
    return this.#length === lastingLength;
  }

  /** The watch has failed just now. */
  add(): void {
    const now = performance.now();
    this.#length = now - this.#lastAt > apartMs ? 1 : this.#length + 1;
    this.#lastAt = now;
  }

  /** The watch works. */
  end(): void {
    this.#length = 0;
  }
}
