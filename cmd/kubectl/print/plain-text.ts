/**
 * Text from elsewhere, made safe for a terminal line: control characters (also the C1 range and direction overrides,
 * with which a name could rewrite the screen or its order) become spaces.
 */
export function plainText(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, " ").trim();
}
