/** A text that must not be written, and whether its first characters alone must not be either. */
export interface Needle {
  readonly text: string;
  /** True for what nobody would write by chance: tokens and keys, not words. */
  readonly prefixes: boolean;
}

/** Texts shorter than this mean nothing: they would be found everywhere. */
export const minLength = 8;
const prefixLength = 10;

/** All the ways in which a secret may be written: as it is, in JSON, in a URL, in base64 at any offset, and the first 10 characters of each. */
export function formsOf({ text, prefixes }: Needle): readonly string[] {
  const whole = [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    ...base64sOf(text),
  ];
  const begins = prefixes ? whole.map((form) => form.slice(0, prefixLength)) : [];
  const forms = [...whole, ...begins].filter(({ length }) => length >= minLength);
  return [...new Set(forms)];
}

/** What base64 makes of a text in the middle of others: without the characters at its ends that depend on those. */
function base64sOf(text: string): readonly string[] {
  const bytes = Buffer.from(text, "utf8");
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const start = Math.ceil((offset * 8) / 6);
    const end = Math.floor((padded.length * 8) / 6);
    const standard = padded.toString("base64").slice(start, end);
    return [standard, standard.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

const pem = /-----BEGIN ([A-Z ]+)-----([\s\S]*?)-----END [A-Z ]+-----/g;
const named =
  /(?:auth|token|password|passwd|secret|api[_-]?key|key-data|keydata)["']?\s*[:=]\s*["']?([^\s"',}]+)/gi;
const logins = /:\/\/([^/@\s"']+)@/g;

/** The needles of a secret text: of a key its lines, of a file such as a kubeconfig what its fields hold, else the text itself. */
export function needlesOf(secret: string): readonly Needle[] {
  const text = secret.trim();
  if (text.length < minLength) return [];
  const keys = Array.from(text.matchAll(pem), ([, kind = "", body = ""]) => ({ kind, body }));
  if (keys.length > 0)
    return keys.filter(({ kind }) => kind.includes("KEY")).flatMap(({ body }) => linesOf(body));
  if (!/[\s{]/.test(text)) return [{ text, prefixes: text.length >= 2 * minLength }];
  const values = Array.from(text.matchAll(named), ([, value = ""]) => value);
  const users = Array.from(text.matchAll(logins), ([, login = ""]) => login);
  const inner = [...values.flatMap((value) => [value, decoded(value)]), ...users];
  return [{ text, prefixes: false }, ...inner.flatMap((value) => needlesOf(value))];
}

function linesOf(body: string): readonly Needle[] {
  const lines = body.split(/\s+/).filter(({ length }) => length >= 2 * minLength);
  return [
    { text: body.trim(), prefixes: false },
    { text: lines.join(""), prefixes: false },
    ...lines.map((text) => ({ text, prefixes: true })),
  ];
}

function decoded(value: string): string {
  const text = Buffer.from(value, "base64").toString("utf8");
  // A key, or the login of a registry.
  const [, password = ""] = /^[\x20-\x7e]+:([\x20-\x7e]+)$/.exec(text) ?? [];
  return text.includes("-----BEGIN ") ? text : password;
}
