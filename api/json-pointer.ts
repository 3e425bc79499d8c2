/** The JSON Pointer with these tokens, such as `/metadata/annotations/a~1b`; empty without tokens. RFC 6901. */
export function pointerOf(...tokens: readonly string[]): string {
  return tokens.map((token) => `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The tokens of a JSON Pointer. RFC 6901. */
export function tokensOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}
