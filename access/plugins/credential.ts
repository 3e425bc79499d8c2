import { createHash, X509Certificate } from "node:crypto";
import { inspect } from "node:util";

import { jsonOf, recordAt, textsOf } from "../../api/fields.ts";

/** A secret text. It prints as `[redacted]`; only `reveal()` returns the text. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the code that sends it. */
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

/** Authenticates us to an API server. */
export interface Credential {
  /** Value of the header `Authorization`. */
  readonly authorization?: Secret;
  readonly certificate?: ClientCertificate;
  /** Further headers that belong to the identity, such as `Impersonate-User`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** When the credential expires, in ms since the epoch; absent: unknown. */
  readonly expiresAtMs?: number;
}

/** Provides the credential of one connection. */
export interface CredentialSource {
  /** A credential that is valid now. Throws `FleetError` `AccessProviderFailed`, or the reason of the signal. */
  current(signal: AbortSignal): Promise<Credential>;
  /** Tells that the server answered 401 to this credential, which is not returned again. */
  reject(credential: Credential): void;
}

/** Versions of `ExecCredential` that are supported. */
export const execApiVersions = [
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
] as const;

/** One of `execApiVersions`. */
export type ExecApiVersion = (typeof execApiVersions)[number];

/** Facts about a credential that may be shown, because they are no use for a login. */
interface CredentialFacts {
  readonly type: "token" | "certificate" | "token and certificate" | "none";
  /** The claim `sub` of a JSON Web Token, or the subject of the certificate. */
  readonly subject: string | undefined;
  readonly issuer: string | undefined;
  /** In ms since the epoch; undefined: unknown. */
  readonly expiresAtMs: number | undefined;
  /** The first 8 hexadecimal digits of the SHA-256, which show whether two credentials are the same. */
  readonly digest: string;
}

/** The facts of a credential. */
export function credentialFacts({
  authorization,
  certificate,
  expiresAtMs,
}: Credential): CredentialFacts {
  const token = authorization?.reveal().replace(/^Bearer /, "");
  const claims = shortTexts(tokenClaims(token ?? ""));
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

/** The claims of a JSON Web Token, which are not verified; empty for other tokens. */
export function tokenClaims(token: string): Readonly<Record<string, unknown>> {
  const [, payload = "", signature] = token.split(".");
  if (signature === undefined) return {};
  return recordAt(jsonOf(Buffer.from(payload, "base64url").toString("utf8")));
}

/** The claims that are texts, each cut. */
function shortTexts(
  claims: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(textsOf(claims).map(([name, text]) => [name, text.slice(0, 200)]));
}
