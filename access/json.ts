declare global {
  interface JSON {
    /** ES2025-stage proposal that Node 24 has: a value that `stringify` writes exactly as the given JSON text. */
    rawJSON(text: string): object;
    /** True for a value that `rawJSON` made. */
    isRawJSON(value: unknown): boolean;
  }
}

/** Whether a content type says JSON. */
export function isJson(contentType: string): boolean {
  return /^application\/json\b/i.test(contentType);
}

/**
 * Parses JSON. Integers that a JavaScript number cannot hold keep their text and are written back unchanged by
 * `JSON.stringify`. Spec: cluster-inventory.md 11, R40.
 */
export function parseJson(text: string): unknown {
  // The slow parser runs only where a long row of digits could be such a number.
  return /\d{16}/.test(text) ? JSON.parse(text, exactInteger) : JSON.parse(text);
}

/** Parses JSON that never went through an API server: every number that would be written otherwise keeps its text. */
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

const blank = /[ \t\r\n]*/y;
const scalar =
  // oxlint-disable-next-line no-control-regex -- JSON forbids control characters inside strings
  /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

type Expecting = "value" | "value or end" | "key" | "key or end" | "colon" | "comma" | "nothing";

/**
 * Where a text stops being JSON, as `line 3, column 7`. For messages, because the error of JSON.parse quotes the text and
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
