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
