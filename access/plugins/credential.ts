import { createHash, X509Certificate } from "node:crypto";
import { inspect } from "node:util";

import { isRecord } from "../../api/fields.ts";

/** A secret text: every way of printing it says `[redacted]`; only `reveal()` gives the text. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the one place that sends it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return "[redacted]";
  }

  toJSON(): string {
    return "[redacted]";
  }

  [inspect.custom](): string {
    return "[redacted]";
  }
}

/** A client certificate with its key; both in PEM. */
export interface ClientCertificate {
  readonly certificatePem: string;
  readonly keyPem: Secret;
}

/** What proves to an API server who we are. */
export interface Credential {
  /** Value of the header `Authorization`. */
  readonly authorization?: Secret;
  readonly certificate?: ClientCertificate;
  /** Further headers that belong to the identity, such as `Impersonate-User`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** When it stops being valid, in ms since the epoch; absent: not known. */
  readonly expiresAtMs?: number;
}

/** Where the credential of one connection comes from. */
export interface CredentialSource {
  /** A credential that is valid now. Throws `FleetError` `AccessProviderFailed`, or the reason of the signal. */
  current(signal: AbortSignal): Promise<Credential>;
  /** The server answered 401 to this credential: it is not given out again. */
  reject(credential: Credential): void;
}

/** Versions of `ExecCredential` that exec plugins and logins of a kubeconfig may speak. */
export const execApiVersions = [
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
] as const;

/** One of `execApiVersions`. */
export type ExecApiVersion = (typeof execApiVersions)[number];

/** What may be said of a credential; nothing of it can be used to log in. */
interface CredentialFacts {
  readonly type: "token" | "certificate" | "token and certificate" | "none";
  /** Who it is for, as it says itself; undefined when it does not. */
  readonly subject: string | undefined;
  readonly issuer: string | undefined;
  /** In ms since 1970; undefined when it does not say. */
  readonly expiresAtMs: number | undefined;
  /** The first 8 hexadecimal digits of its SHA-256, to tell whether two are the same. */
  readonly digest: string;
}

/** The facts of a credential. */
export function credentialFacts({
  authorization,
  certificate,
  expiresAtMs,
}: Credential): CredentialFacts {
  const token = authorization?.reveal().replace(/^Bearer /, "");
  const claims = token === undefined ? {} : claimsOf(token);
  const x509 =
    certificate === undefined ? undefined : new X509Certificate(certificate.certificatePem);
  const digest = createHash("sha256").update(token ?? certificate?.certificatePem ?? "");
  return {
    type: typeOf(token !== undefined, certificate !== undefined),
    subject: claims["sub"] ?? x509?.subject.replaceAll("\n", ", "),
    issuer: claims["iss"] ?? x509?.issuer.replaceAll("\n", ", "),
    expiresAtMs,
    digest: digest.digest("hex").slice(0, 8),
  };
}

function typeOf(hasToken: boolean, hasCertificate: boolean): CredentialFacts["type"] {
  if (hasToken) return hasCertificate ? "token and certificate" : "token";
  return hasCertificate ? "certificate" : "none";
}

/** Claims of a JSON Web Token that are text; empty for other tokens. */
function claimsOf(token: string): Readonly<Record<string, string | undefined>> {
  const [, payload = "", signature] = token.split(".");
  if (signature === undefined) return {};
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    const texts = Object.entries(isRecord(claims) ? claims : {}).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, value.slice(0, 200)] as const] : [],
    );
    return Object.fromEntries(texts);
  } catch {
    return {};
  }
}
