/** What a hostile server, plugin or user says: it colours a terminal, sets its title, goes back to the start of the line, turns letters round, and does not end. */
export const lyingText = `\u001b[31mred\u001b]0;owned\u0007 over\rwritten \u009b2J\u0085 \u202egnp.exe\u2066 ${"x".repeat(400 * 1024)}`;

/** What a text that was written has of a lie: characters that nobody sees or that steer a terminal. Empty: nothing. */
export function lieIn(text: string): readonly string[] {
  const found = text.match(/(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu) ?? [];
  return [...new Set(found)].map((each) => `U+${each.codePointAt(0)?.toString(16) ?? ""}`);
}
