/** Whether a text is what a pattern with `*` and `?` stands for. */
export function globMatches(pattern: string, text: string): boolean {
  const source = pattern
    .replaceAll(/[\\^$.|+()[\]{}]/g, String.raw`\$&`)
    // Several stars in a row mean what one does, and cost what one does.
    .replaceAll(/\*+/g, ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "s").test(text);
}
