/**
 * Remembers what was made for a key, for at most `limit` keys; the one not used for the longest time goes first. Callers who
 * ask while a value is being made share it; a failure is not remembered.
 */
export class BoundedCache<Value> {
  readonly #limit: number;
  readonly #entries = new Map<string, Promise<Value>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Number of remembered values. */
  get size(): number {
    return this.#entries.size;
  }

  /** The remembered value, or what `make` makes; rejects with what `make` threw. */
  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const found = this.#entries.get(key);
    const entry = found ?? make();
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (found === undefined) this.#settle(key, entry);
    return entry;
  }

  #settle(key: string, entry: Promise<Value>): void {
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#limit && oldest !== undefined) this.#entries.delete(oldest);
    entry.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
  }
}
