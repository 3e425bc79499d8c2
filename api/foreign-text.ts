// Sequences that set the title of a terminal or write to its clipboard.
// oxlint-disable-next-line no-control-regex -- removes control sequences
const titles = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?/g;
// Sequences that move the cursor of a terminal or change colours.
// oxlint-disable-next-line no-control-regex -- removes control sequences
const sequences = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/g;
// Characters that nobody can see, or that reverse the order of letters.
const unseen = /\p{Cf}/gu;
const control = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;
const controlInLines = /(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const maxCharacters = 1_024;

/**
 * A text that a server or a user chose, fit for one line of a terminal, a log or a condition: without control characters and
 * sequences, and cut to 1,024 characters unless `max` says otherwise. Spec: security.md T-51.
 */
export function foreignText(text: string, max: number = maxCharacters): string {
  // The rest would be cut away anyway; the factor leaves room for long sequences.
  const start = text.slice(0, 4 * Math.max(max, maxCharacters));
  const seen = start.replace(titles, "").replace(sequences, "").replace(unseen, "");
  return plainText(seen).slice(0, max).toWellFormed();
}

/** A text of any length for one line of a terminal: control characters become spaces, so that what was hidden is seen. */
export function plainText(text: string): string {
  return text.replaceAll(control, " ").trim();
}

/** A text of many lines for a terminal: line ends and tabs stay, other control characters become spaces. */
export function plainLines(text: string): string {
  return text.replaceAll(controlInLines, " ");
}

/** A name for a condition, in which no letter can pass for another one: characters outside of ASCII become `?`. */
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

/** A foreign text with `[redacted]` in place of what looks like a secret: tokens, PEM blocks, values after `token:`, `password=` and the like. */
export function redactSecrets(text: string): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}
