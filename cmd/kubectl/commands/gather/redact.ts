import { createHash } from "node:crypto";

import { scrubbed } from "../../../../access/scrubbed.ts";
import { isRecord } from "../../../../api/fields.ts";
import { stringAt } from "../../selection/fields.ts";
import type { SecretFinder } from "./known-secrets.ts";

const secretName =
  /^(?:.*[-_.])?(?:token|password|passwd|secret|api[-_]?key|key-data|private[-_]?key|authorization|bearer|credentials?)$/i;
const secretCamelName = /[a-z](?:Token|Password|Secret|ApiKey|PrivateKey|Credentials?)$/;

const certificate = /-----BEGIN CERTIFICATE-----[\s\S]*?(?:-----END CERTIFICATE-----|$)/g;
// base64 of "-----BEGIN", with what follows.
const encodedPem = /LS0tLS1CRUdJTi[\w+/=]*/g;
const login = /(:\/\/)[^/@\s"']+@/g;
// `name: TOKEN` and below it `value: …`, as variables stand in YAML.
const yamlPair = /(name:[ \t]*["']?([\w.-]+)["']?[ \t]*\n[ \t]*value:[ \t]*)[^\n]+/g;

/** Takes out of documents what is secret: what the run knows as such, and what looks so. */
export class Redactor {
  readonly #secrets: SecretFinder;

  constructor(secrets: SecretFinder) {
    this.#secrets = secrets;
  }

  /** A text without secrets; of certificates the fingerprint stays. */
  text(text: string): string {
    const known = this.#secrets.redacted(text);
    const marked = known
      .replaceAll(certificate, (found) => fingerprint(found))
      .replaceAll(encodedPem, (found) => encodedFingerprint(found))
      .replaceAll(login, "$1[redacted]@")
      .replaceAll(yamlPair, (whole, before: string, name: string) =>
        isSecretName(name) ? `${before}[redacted]` : whole,
      );
    return scrubbed(marked);
  }

  /** A JSON value without secrets, also in texts that are documents themselves and in pairs `{ name, value }`. */
  value(value: unknown): unknown {
    if (typeof value === "string") return this.#document(value);
    if (Array.isArray(value)) return value.map((item: unknown) => this.value(item));
    if (!isRecord(value)) return value;
    const name = stringAt(value, "name") ?? "";
    const entries = Object.entries(value).map(([key, field]) => {
      const isSecret =
        typeof field === "string" && (isSecretName(key) || (key === "value" && isSecretName(name)));
      return [this.text(key), isSecret && field !== "" ? "[redacted]" : this.value(field)];
    });
    return Object.fromEntries(entries);
  }

  #document(text: string): string {
    if (!/^\s*[{[]/.test(text)) return this.text(text);
    try {
      const before: unknown = JSON.parse(text);
      const [was, is] = [before, this.value(before)].map((one) => JSON.stringify(one));
      return was === is ? this.text(text) : this.text(is ?? "");
    } catch {
      return this.text(text);
    }
  }
}

function isSecretName(name: string): boolean {
  return secretName.test(name) || secretCamelName.test(name);
}

function fingerprint(pem: string): string {
  return `[certificate sha256:${createHash("sha256").update(pem.replaceAll(/\s/g, "")).digest("hex").slice(0, 8)}]`;
}

function encodedFingerprint(text: string): string {
  const pem = Buffer.from(text, "base64").toString("utf8");
  return pem.startsWith("-----BEGIN CERTIFICATE-----") ? fingerprint(pem) : "[redacted]";
}
