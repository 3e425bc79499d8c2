/** How deep a review may be nested, and how many values it may hold. Security: T-62, F9. */
const shapeLimits = { depth: 64 + 16, values: 80_000 } as const;

const quote = 0x22;
const backslash = 0x5c;

/**
 * What is wrong with the shape of a JSON text, found in one pass without recursion and before anything is parsed; undefined when it is
 * within the limits. Says nothing about whether the text is JSON.
 */
export function shapeProblem(text: Uint8Array, limits = shapeLimits): string | undefined {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === quote) at = endOfString(text, at);
    else if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (byte === 0x2c) values += 1;
    if (depth > limits.depth) return `nested deeper than ${limits.depth} levels`;
    if (values > limits.values) return `more than ${limits.values} values`;
  }
  return undefined;
}

/** Offset of the quote that ends the string that begins at `start`. */
function endOfString(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === backslash ? 2 : 1;
  return at;
}
