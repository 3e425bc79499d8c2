import { createHash } from "node:crypto";

/** Everything that happened in a run, in order. Two runs of a seed have the same hash. */
export class Trace {
  readonly #hash = createHash("sha256");
  readonly #lines: string[] = [];
  readonly #onLine: ((line: string) => void) | undefined;
  #count = 0;

  /** `onLine`: called for each line, for people. */
  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  get count(): number {
    return this.#count;
  }

  /** The last lines, for the report of a failure. */
  get last(): readonly string[] {
    return this.#lines;
  }

  note(atMs: number, text: string): void {
    const line = `${(atMs / 1_000).toFixed(3).padStart(9)} ${text}`;
    this.#count += 1;
    this.#hash.update(line).update("\n");
    this.#lines.push(line);
    if (this.#lines.length > 40) this.#lines.shift();
    this.#onLine?.(line);
  }

  /** Has to be called once, at the end. */
  digest(): string {
    return this.#hash.digest("hex");
  }
}
