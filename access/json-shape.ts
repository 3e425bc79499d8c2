/** How deep a JSON text may be nested, and how many values it may hold. */
export interface ShapeLimits {
  readonly depth: number;
  readonly values: number;
}

/** What exceeds a limit first. */
export type ShapeExcess = keyof ShapeLimits;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
// `[` and `{`, `]` and `}`: the second bit apart, they are the same with this one.
const lowerCase = 0x20;
const opening = 0x7b;
const closing = 0x7d;

/**
 * Counts depth and values of a JSON text that comes in parts, in one pass without recursion and before anything is parsed: a few bytes of text
 * may become many of memory. Says nothing about whether the text is JSON.
 */
export class JsonShape {
  readonly #limits: ShapeLimits;
  #depth = 0;
  #values = 0;
  #inText = false;
  #isEscaped = false;

  constructor(limits: ShapeLimits) {
    this.#limits = limits;
  }

  /** Takes the next part; returns what is too much by now. */
  take(part: Uint8Array): ShapeExcess | undefined {
    const { depth: maxDepth, values: maxValues } = this.#limits;
    // Fields are several times slower, and this looks at each byte of each answer.
    let depth = this.#depth;
    let values = this.#values;
    let at = this.#inText ? this.#endOfText(part, 0) : 0;
    while (at < part.length) {
      const byte = part[at] ?? 0;
      at += 1;
      if (byte === quote) at = this.#endOfText(part, at);
      else if (byte === comma) values += 1;
      else if ((byte | lowerCase) === opening) {
        depth += 1;
        values += 1;
        if (depth > maxDepth) return "depth";
      } else if ((byte | lowerCase) === closing) depth -= 1;
    }
    this.#depth = depth;
    this.#values = values;
    return values > maxValues ? "values" : undefined;
  }

  /** The next part begins another text. */
  restart(): void {
    this.#depth = 0;
    this.#values = 0;
    this.#inText = false;
    this.#isEscaped = false;
  }

  /** Where the part goes on after a string, of which it holds what comes from `start` on. */
  #endOfText(part: Uint8Array, start: number): number {
    let at = this.#isEscaped ? start + 1 : start;
    while (at < part.length && part[at] !== quote) at += part[at] === backslash ? 2 : 1;
    this.#inText = at >= part.length;
    // Its last byte is a backslash, which concerns the first one of the next part.
    this.#isEscaped = at > part.length;
    return at + 1;
  }
}
