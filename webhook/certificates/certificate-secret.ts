import { createPrivateKey, X509Certificate } from "node:crypto";

import { textsOf } from "../../api/fields.ts";
import type { KeyPair } from "./issue-certificate.ts";

/** A certificate with its key and its times in milliseconds of Unix time. */
export interface HeldPair extends KeyPair {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** The certificate of an authority whose key is not known. */
export interface TrustedAuthority {
  readonly certificatePem: string;
  readonly notAfterMs: number;
}

/** The usable content of the webhook's Secret. */
export interface StoredCertificates {
  /** Signs serving certificates. */
  readonly authority: HeldPair | undefined;
  /** Is trusted already, and signs next. */
  readonly next: HeldPair | undefined;
  /** The serving certificate, signed by the authority for all names. */
  readonly leaf: HeldPair | undefined;
  /** Are still trusted, and sign no more. */
  readonly previous: readonly TrustedAuthority[];
}

/** Keys of the Secret. `tls.*` and `ca.crt` are named as cert-manager names them, so that its injector can read the bundle. */
const keys = {
  leaf: ["tls.crt", "tls.key"],
  authority: ["authority.crt", "authority.key"],
  next: ["next-authority.crt", "next-authority.key"],
} as const;
const bundleKey = "ca.crt";
const maxCertificates = 12;

/** Reads a Secret's `data`. Leaves out what is missing, cannot be read or does not fit together. */
export function storedCertificatesOf(
  data: unknown,
  dnsNames: readonly string[],
): StoredCertificates {
  const texts = decoded(data);
  const pairAt = ([certificate, key]: readonly [string, string]) =>
    pairOf(texts.get(certificate) ?? "", texts.get(key) ?? "");
  const authority = authorityOnly(pairAt(keys.authority));
  const next = authorityOnly(pairAt(keys.next));
  const leaf = pairAt(keys.leaf);
  const own = [authority, next].map((pair) => pair?.certificatePem);
  return {
    authority,
    next: next?.certificatePem === authority?.certificatePem ? undefined : next,
    leaf:
      leaf !== undefined && authority !== undefined && isLeafOf(leaf, authority, dnsNames)
        ? leaf
        : undefined,
    previous: authoritiesIn(texts.get(bundleKey) ?? "").filter(
      ({ certificatePem }) => !own.includes(certificatePem),
    ),
  };
}

/** The PEM texts of all trusted authorities; first the one that signs. */
export function bundleOf({ authority, next, previous }: StoredCertificates): string {
  const trusted = [authority, next, ...previous].flatMap((one) => one?.certificatePem ?? []);
  return [...new Set(trusted)].slice(0, maxCertificates).join("");
}

/** The `data` of a Secret that holds the certificates. */
export function secretDataOf(stored: StoredCertificates): Readonly<Record<string, string>> {
  const { leaf, authority, next } = stored;
  const pairs = [
    [keys.leaf, leaf],
    [keys.authority, authority],
    [keys.next, next],
  ] as const;
  const texts = [
    ...pairs.flatMap(([[certificate, key], pair]) =>
      pair === undefined
        ? []
        : [[certificate, pair.certificatePem] as const, [key, pair.keyPem] as const],
    ),
    [bundleKey, bundleOf(stored)] as const,
  ];
  return Object.fromEntries(
    texts.map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
}

/** Whether a Secret's `data` holds exactly the certificates that were read from it. */
export function isAsWritten(data: unknown, stored: StoredCertificates): boolean {
  const texts = decoded(data);
  const wanted = Object.entries(secretDataOf(stored));
  return (
    wanted.length === texts.size &&
    wanted.every(([key, base64]) => texts.get(key) === Buffer.from(base64, "base64").toString())
  );
}

/** A pair with its times; undefined when one of the texts cannot be read or they do not belong together. */
export function pairOf(certificatePem: string, keyPem: string): HeldPair | undefined {
  try {
    const certificate = new X509Certificate(certificatePem);
    if (!certificate.checkPrivateKey(createPrivateKey(keyPem))) return undefined;
    return {
      certificatePem,
      keyPem,
      notBeforeMs: certificate.validFromDate.getTime(),
      notAfterMs: certificate.validToDate.getTime(),
    };
  } catch {
    // The error is dropped, because it may say something about the key.
    return undefined;
  }
}

function authorityOnly(pair: HeldPair | undefined): HeldPair | undefined {
  return pair !== undefined && new X509Certificate(pair.certificatePem).ca ? pair : undefined;
}

function isLeafOf(leaf: HeldPair, authority: HeldPair, dnsNames: readonly string[]): boolean {
  const certificate = new X509Certificate(leaf.certificatePem);
  const issuer = new X509Certificate(authority.certificatePem);
  return (
    certificate.checkIssued(issuer) &&
    certificate.verify(issuer.publicKey) &&
    dnsNames.every((name) => certificate.checkHost(name) !== undefined)
  );
}

function authoritiesIn(bundle: string): readonly TrustedAuthority[] {
  const blocks =
    bundle.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n?/g) ?? [];
  return blocks.slice(0, maxCertificates).flatMap((certificatePem) => {
    try {
      const certificate = new X509Certificate(certificatePem);
      return certificate.ca
        ? [{ certificatePem, notAfterMs: certificate.validToDate.getTime() }]
        : [];
    } catch {
      return [];
    }
  });
}

function decoded(data: unknown): ReadonlyMap<string, string> {
  return new Map(
    textsOf(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString("utf8")]),
  );
}
