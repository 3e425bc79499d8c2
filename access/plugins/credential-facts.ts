import { createHash, X509Certificate } from "node:crypto";

import { isRecord } from "../../api/fields.ts";
import type { Credential } from "./credential.ts";

/** What may be said of a credential; nothing of it can be used to log in. */
export interface CredentialFacts {
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
