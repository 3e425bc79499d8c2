// Sequences that set the title of a terminal or write to its clipboard.
// oxlint-disable-next-line no-control-regex -- removes control sequences
const titles = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?/g;
// Sequences that move the cursor of a terminal or change colours.
// oxlint-disable-next-line no-control-regex -- removes control sequences
const sequences = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/g;
// Characters that are invisible, or that reverse the order of letters.
const unseen = /\p{Cf}/gu;
const control = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;
const controlInLines = /(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const maxCharacters = 1_024;

/**
 * Makes text from a server or a user safe for one line of a terminal, a log or a condition: removes control characters and
 * sequences, and cuts it to `max` characters. Spec: security.md T-51.
 */
export function foreignText(text: string, max: number = maxCharacters): string {
  // Cut first, because the text may be very long. The factor leaves room for sequences.
  const start = text.slice(0, 4 * Math.max(max, maxCharacters));
  const visible = start.replace(titles, "").replace(sequences, "").replace(unseen, "");
  return plainText(visible).slice(0, max).toWellFormed();
}

/** The beginning `start` of a text, without a last word that is cut. A text of one long word, such as a hash, is cut inside. */
export function wholeWords(text: string, start: string): string {
  if (start.length >= text.length || text[start.length] === " ") return start.trimEnd();
  const end = start.lastIndexOf(" ");
  return end < start.length / 2 ? start : start.slice(0, end).trimEnd();
}

/** Makes text of any length safe for one line of a terminal: control characters become spaces, and hidden text becomes visible. */
export function plainText(text: string): string {
  return text.replaceAll(control, " ").trim();
}

/** Makes text of several lines safe for a terminal: keeps line feeds and tabs; other control characters become spaces. */
export function plainLines(text: string): string {
  return text.replaceAll(controlInLines, " ");
}

/** Makes a name safe for a condition: characters outside ASCII, which can look like others, become `?`. */
export function asciiText(name: string): string {
  return name.replaceAll(/[^\x20-\x7e]/g, "?");
}

const secrets: readonly RegExp[] = [
  /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g,
  // JSON Web Tokens, also cut ones.
  /\beyJ[\w-]{5,}(?:\.[\w-]*){0,2}/g,
  /(?<=\b(?:bearer|basic)\s+)[\w.~+/=-]+/gi,
  /(?<=\b[\w-]*(?:token|password|passwd|secret|api[_-]?key|key-data|keydata)["']?\s*[:=]\s*["']?)[^\s"',}]+/gi,
];

/** Replaces texts that may be secrets with `[redacted]`: tokens, PEM blocks, and values after `token:`, `password=` and the like. */
export function redactSecrets(text: string): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}

/** Writes the characters that a pattern finds as JSON can write them in its strings: `\u001b`. */
export function asEscapes(json: string, pattern: RegExp): string {
  return json.replaceAll(pattern, (found) =>
    Array.from({ length: found.length }, (_, at) => {
      const code = found.charCodeAt(at).toString(16);
      return `\\u${code.padStart(4, "0")}`;
    }).join(""),
  );
}
