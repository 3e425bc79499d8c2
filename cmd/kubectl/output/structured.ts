/** A document as JSON with a final newline. */
export function renderJson(document: unknown, indent = 2): string {
  return `${escaped(JSON.stringify(document, null, indent))}\n`;
}

/** A value as JSON on one line. */
export function jsonLine(value: unknown): string {
  return `${escaped(JSON.stringify(value))}\n`;
}

// JSON leaves some characters as they are that terminals obey; they stand in strings only. Security: T-86.
function escaped(json: string): string {
  return json.replaceAll(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A document as YAML; loads the parser only when asked for. */
export async function renderYaml(document: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}
