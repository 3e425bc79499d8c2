declare global {
  interface JSON {
    /** Makes a value that `stringify` writes exactly as the given JSON text. TypeScript does not declare this function of Node 24 yet. */
    rawJSON(text: string): object;
    /** True for a value that `rawJSON` made. */
    isRawJSON(value: unknown): boolean;
  }
}

/** True for the content type of JSON. */
export function isJson(contentType: string): boolean {
  return /^application\/json\b/i.test(contentType);
}

/**
 * Parses JSON. Integers that a JavaScript number cannot hold keep their text and are written back unchanged by
 * `JSON.stringify`. Spec: cluster-inventory.md 11, R40.
 */
export function parseJson(text: string): unknown {
  // The slow parser runs only when the text has enough digits in a row for such a number.
  return /\d{16}/.test(text) ? JSON.parse(text, exactInteger) : JSON.parse(text);
}

/** Parses JSON that did not come from an API server. Each number keeps its text when JavaScript would write it differently. */
export function parseExactJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    const isExact = typeof value !== "number" || source === undefined || String(value) === source;
    return isExact ? value : JSON.rawJSON(source);
  });
}

function exactInteger(
  _key: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return /^-?\d+$/.test(source) ? JSON.rawJSON(source) : value;
}

/** How deep a JSON text may be nested, and how many values it may hold. */
export interface ShapeLimits {
  readonly depth: number;
  readonly values: number;
}

/** The limit that is exceeded. */
export type ShapeExcess = keyof ShapeLimits;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
// Setting this bit turns `[` into `{` and `]` into `}`, so one comparison finds both.
const bracketBit = 0x20;
const opening = 0x7b;
const closing = 0x7d;

/**
 * Counts the depth and the values of a JSON text that comes in parts. It runs before the parser, because a few bytes of JSON can become
 * much memory. It does not check whether the text is valid JSON.
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

  /** Counts the next part. Returns the limit that is exceeded, if any. */
  take(part: Uint8Array): ShapeExcess | undefined {
    const { depth: maxDepth, values: maxValues } = this.#limits;
    // Local variables are several times faster than fields, and this loop reads every byte of every answer.
    let depth = this.#depth;
    let values = this.#values;
    let at = this.#inText ? this.#endOfText(part, 0) : 0;
    while (at < part.length) {
      const byte = part[at] ?? 0;
      at += 1;
      if (byte === quote) at = this.#endOfText(part, at);
      else if (byte === comma) values += 1;
      else if ((byte | bracketBit) === opening) {
        depth += 1;
        values += 1;
        if (depth > maxDepth) return "depth";
      } else if ((byte | bracketBit) === closing) depth -= 1;
    }
    this.#depth = depth;
    this.#values = values;
    return values > maxValues ? "values" : undefined;
  }

  /** Starts to count another text. */
  restart(): void {
    this.#depth = 0;
    this.#values = 0;
    this.#inText = false;
    this.#isEscaped = false;
  }

  /** The offset after the end of the string whose content is at `start`; the part's length or more when the string does not end in it. */
  #endOfText(part: Uint8Array, start: number): number {
    let at = this.#isEscaped ? start + 1 : start;
    while (at < part.length && part[at] !== quote) at += part[at] === backslash ? 2 : 1;
    this.#inText = at >= part.length;
    // The part ends in a backslash, which escapes the first byte of the next part.
    this.#isEscaped = at > part.length;
    return at + 1;
  }
}

const blank = /[ \t\r\n]*/y;
const scalar =
  // oxlint-disable-next-line no-control-regex -- JSON forbids control characters inside strings
  /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

type Expecting = "value" | "value or end" | "key" | "key or end" | "colon" | "comma" | "nothing";

/**
 * The position of the first syntax error, as `line 3, column 7`. The message of JSON.parse is not used, because it quotes the text and
 * often has no position.
 */
export function jsonErrorPosition(text: string): string {
  const lines = text.slice(0, firstErrorOffset(text)).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

function firstErrorOffset(text: string): number {
  const open: string[] = [];
  let expecting: Expecting = "value";
  let offset = 0;
  for (;;) {
    offset = endOf(blank, text, offset);
    const character = text[offset];
    if (character === undefined) return offset;
    if (structureOf(expecting, open.at(-1)).includes(character)) {
      expecting = afterStructure(character, open);
      offset += 1;
      continue;
    }
    const isKey = expecting.startsWith("key");
    const end = isKey || expecting.startsWith("value") ? endOf(scalar, text, offset) : offset;
    if (end === offset || (isKey && character !== '"')) return offset;
    offset = end;
    expecting = isKey ? "colon" : afterValue(open);
  }
}

/** The structural characters that may come next. */
function structureOf(expecting: Expecting, open: string | undefined): string {
  const structure: Readonly<Record<Expecting, string>> = {
    value: "{[",
    "value or end": "{[]",
    key: "",
    "key or end": "}",
    colon: ":",
    comma: open === "{" ? ",}" : ",]",
    nothing: "",
  };
  return structure[expecting];
}

function afterStructure(character: string, open: string[]): Expecting {
  if (character === "{" || character === "[") {
    open.push(character);
    return character === "{" ? "key or end" : "value or end";
  }
  if (character === ":") return "value";
  if (character === ",") return open.at(-1) === "{" ? "key" : "value";
  open.pop();
  return afterValue(open);
}

function afterValue(open: readonly string[]): Expecting {
  return open.length === 0 ? "nothing" : "comma";
}

function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}
