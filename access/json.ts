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
