import { createHmac, randomBytes } from "node:crypto";

import type { Credential } from "../../../access/plugins/credential.ts";
import { isRecord } from "../../../api/fields.ts";
import type { ObjectRow } from "../spokes/object-table.ts";

/** Keys of Secrets whose values are public. */
const publicKeys = new Set(["ca.crt", "namespace", "server", "tls.crt", "username"]);

/**
 * Every secret that the run has read, to find it again in the files that the run writes. A value that is also the name of an object in the cluster is
 * no secret.
 */
export class KnownSecrets {
  readonly #needles: Needle[] = [];
  readonly #names = new Set<string>();

  /** Adds a credential that was used. */
  credential({ authorization, certificate }: Credential): void {
    const [scheme = "", token = ""] = authorization?.reveal().split(" ") ?? [];
    this.#add(token);
    if (scheme.toLowerCase() === "basic") {
      this.#add(
        Buffer.from(token, "base64")
          .toString("utf8")
          .replace(/^[^:]*:/, ""),
      );
    }
    this.#add(certificate?.keyPem.reveal() ?? "");
  }

  /** Adds a value of a Secret. */
  value(key: string, bytes: Buffer): void {
    if (!publicKeys.has(key)) this.#add(bytes.toString("utf8"));
  }

  /** Adds a name, which is no secret. */
  name(text: string): void {
    this.#names.add(text);
  }

  #add(secret: string): void {
    this.#needles.push(...needlesOf(secret));
  }

  /** A finder of all secrets that were added until now. */
  finder(): SecretFinder {
    const names = [...this.#names];
    const secrets = this.#needles.filter(({ text }) => !this.#names.has(text));
    const forms = new Set(secrets.flatMap(formsOf));
    return new SecretFinder(
      [...forms].filter((form) => !names.some((name) => name.startsWith(form))),
    );
  }
}

/** Finds many texts in one pass over a text. */
export class SecretFinder {
  readonly #byStart: ReadonlyMap<string, readonly string[]>;

  constructor(forms: readonly string[]) {
    const longest = forms.toSorted((a, b) => b.length - a.length);
    this.#byStart = Map.groupBy(longest, (form) => form.slice(0, minLength));
  }

  /** The text with every secret replaced, and with it the characters behind it that may be the rest of a token. */
  redacted(text: string): string {
    let from = 0;
    let kept = "";
    for (let found = this.#next(text, 0); found !== undefined; found = this.#next(text, from)) {
      kept += `${text.slice(from, found.at)}[redacted]`;
      from = endOfToken(text, found.at + found.form.length);
    }
    return kept + text.slice(from);
  }

  /** Whether a text has one of the secrets. */
  isIn(text: string): boolean {
    return this.#next(text, 0) !== undefined;
  }

  #next(text: string, from: number): { readonly at: number; readonly form: string } | undefined {
    if (this.#byStart.size === 0) return undefined;
    for (let at = from; at + minLength <= text.length; at += 1) {
      const forms = this.#byStart.get(text.slice(at, at + minLength));
      const form = forms?.find((one) => text.startsWith(one, at));
      if (form !== undefined) return { at, form };
    }
    return undefined;
  }
}

function endOfToken(text: string, from: number): number {
  const rest = /[\w.~+/=%-]*/y;
  rest.lastIndex = from;
  rest.test(text);
  return rest.lastIndex;
}

/** A text that must not be written. */
interface Needle {
  readonly text: string;
  /** Whether its first characters alone must not be written either: true for tokens and keys, false for words. */
  readonly prefixes: boolean;
}

/** Shorter texts occur by chance. */
const minLength = 8;
const prefixLength = 10;

/** All forms of a secret: as it is, in JSON, in a URL, in base64 at any offset, and the first 10 characters of each. */
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

/** The base64 of a text inside a longer text: without the characters at both ends, which depend on the bytes around it. */
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

/** The needles of a secret: the lines of a key, the values in a file such as a kubeconfig, else the text itself. */
function needlesOf(secret: string): readonly Needle[] {
  const text = secret.trim();
  if (text.length < minLength) return [];
  const keys = Array.from(text.matchAll(pem), ([, kind = "", body = ""]) => ({ kind, body }));
  if (keys.length > 0)
    return keys.filter(({ kind }) => kind.includes("KEY")).flatMap(({ body }) => lineNeedles(body));
  if (!/[\s{]/.test(text)) return [{ text, prefixes: text.length >= 2 * minLength }];
  const values = Array.from(text.matchAll(named), ([, value = ""]) => value);
  const users = Array.from(text.matchAll(logins), ([, login = ""]) => login);
  const inner = [...values.flatMap((value) => [value, decoded(value)]), ...users];
  return [{ text, prefixes: false }, ...inner.flatMap((value) => needlesOf(value))];
}

function lineNeedles(body: string): readonly Needle[] {
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

/** Replaces values of Secrets by their sizes, and by hashes that are equal for equal values of one run. */
export class SecretDigests {
  // The salt never leaves this process, so that nobody can guess values by their hashes.
  readonly #salt = randomBytes(32);
  readonly #known: KnownSecrets;

  constructor(known: KnownSecrets) {
    this.#known = known;
  }

  /** The row of a Secret with digests in place of its values, which become known secrets. */
  digest(row: ObjectRow): ObjectRow {
    const { metadata, type, data } = row.object;
    const entries = Object.entries(isRecord(data) ? data : {}).map(([key, value]) => {
      const bytes = Buffer.from(typeof value === "string" ? value : "", "base64");
      this.#known.value(key, bytes);
      const hash = createHmac("sha256", this.#salt).update(bytes).digest("hex").slice(0, 16);
      return [key, `${bytes.length} bytes, salted hash ${hash}`] as const;
    });
    const { annotations: _annotations, ...kept } = isRecord(metadata) ? metadata : {};
    return { ...row, object: { metadata: kept, type, data: Object.fromEntries(entries) } };
  }
}
