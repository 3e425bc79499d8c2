/**
 * An equal text, of which this process holds one copy for as long as anybody has it: so V8 keeps the names of properties. For texts that are kept for
 * each of many clusters and are the same on most of them.
 */
export function interned(text: string): string {
  // Without a prototype no name of a property means anything, and the shape of the object is not remembered.
  const names: Record<string, unknown> = { __proto__: null };
  names[text] = true;
  return Object.keys(names)[0] ?? text;
}
