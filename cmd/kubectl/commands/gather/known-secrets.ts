import type { Credential } from "../../../../access/plugins/credential.ts";
import { formsOf, minLength, needlesOf, type Needle } from "./secret-forms.ts";

/** Keys of Secrets whose values everybody may know. */
const publicKeys = new Set(["ca.crt", "namespace", "server", "tls.crt", "username"]);

/**
 * Every secret that a run has met, to find it again in what the run writes. Values that are names of the cluster's objects are no secrets:
 * everybody sees them.
 */
export class KnownSecrets {
  readonly #needles: Needle[] = [];
  readonly #names = new Set<string>();

  /** A credential that was used. */
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

  /** A value of a Secret of a cluster. */
  value(key: string, bytes: Buffer): void {
    if (!publicKeys.has(key)) this.#add(bytes.toString("utf8"));
  }

  /** A name that is no secret. */
  name(text: string): void {
    this.#names.add(text);
  }

  #add(secret: string): void {
    this.#needles.push(...needlesOf(secret));
  }

  /** How to find them all: the needles that were met until now. */
  finder(): SecretFinder {
    const names = [...this.#names];
    const secrets = this.#needles.filter(({ text }) => !this.#names.has(text));
    const forms = new Set(secrets.flatMap(formsOf));
    return new SecretFinder(
      [...forms].filter((form) => !names.some((name) => name.startsWith(form))),
    );
  }
}

/** Finds many texts in one pass over another one. */
export class SecretFinder {
  readonly #byStart: ReadonlyMap<string, readonly string[]>;

  constructor(forms: readonly string[]) {
    const longest = forms.toSorted((a, b) => b.length - a.length);
    this.#byStart = Map.groupBy(longest, (form) => form.slice(0, minLength));
  }

  /** The text without what was found; what looks like the rest of a token behind it is gone, too. */
  redacted(text: string): string {
    let from = 0;
    let kept = "";
    for (let found = this.#next(text, 0); found !== undefined; found = this.#next(text, from)) {
      kept += `${text.slice(from, found.at)}[redacted]`;
      from = endOfToken(text, found.at + found.form.length);
    }
    return kept + text.slice(from);
  }

  /** Whether a text has any of them. */
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
