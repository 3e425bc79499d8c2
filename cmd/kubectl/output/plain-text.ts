/**
 * Text from elsewhere, made safe for a terminal line: control characters (also the C1 range and direction overrides,
 * with which a name could rewrite the screen or its order) become spaces.
 */
export function plainText(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, " ").trim();
}

/** The same for text of many lines, whose line ends and tabs stay. */
export function plainLines(text: string): string {
  return text.replaceAll(/(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, " ");
}
