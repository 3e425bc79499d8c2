/** A remembered text and until when nobody has to ask whether it is still true. */
export interface CachedText {
  readonly text: string;
  readonly freshUntil: number;
}

/** Remembers texts by key up to a number of characters altogether; the one that was not used for the longest time goes first. */
export class TextCache {
  readonly #limit: number;
  readonly #entries = new Map<string, CachedText>();
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): CachedText | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  set(key: string, entry: CachedText): void {
    this.delete(key);
    this.#entries.set(key, entry);
    this.#size += entry.text.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#limit) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#size -= entry.text.length;
  }
}
