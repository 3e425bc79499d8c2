const secrets: readonly RegExp[] = [
  /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g,
  // JSON Web Tokens, also cut ones.
  /\beyJ[\w-]{5,}(?:\.[\w-]*){0,2}/g,
  /(?<=\b(?:bearer|basic)\s+)[\w.~+/=-]+/gi,
  /(?<=\b[\w-]*(?:token|password|passwd|secret|api[_-]?key|key-data|keydata)["']?\s*[:=]\s*["']?)[^\s"',}]+/gi,
];

/** Foreign text without what looks like a secret: tokens, PEM blocks, values after `token:`, `password=` and the like. */
export function scrubbed(text: string): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}
