import { inspect } from "node:util";

/** A secret text: every way of printing it says `[redacted]`; only `reveal()` gives the text. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the one place that sends it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return "[redacted]";
  }

  toJSON(): string {
    return "[redacted]";
  }

  [inspect.custom](): string {
    return "[redacted]";
  }
}
