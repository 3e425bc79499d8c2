/** A document as JSON with two spaces and a final newline. */
export function renderJson(document: unknown): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** A document as YAML; loads the parser only when asked for. */
export async function renderYaml(document: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}
