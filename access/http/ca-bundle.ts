import { X509Certificate } from "node:crypto";

/** A bundle of certificate authorities cannot be used; the message is a sentence of ours without its subject. */
export class CaBundleError extends Error {
  override readonly name = "CaBundleError";
}

const maxBytes = 256 * 1024;
const maxCertificates = 50;
const minRsaBits = 2_048;
const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
const soonMs = 30 * 24 * 3_600_000;

/** Trust anchors of a server. */
export interface CaBundle {
  readonly pem: string;
  /** What works today and will not for long, or is of no use beside the others. */
  readonly warnings: readonly string[];
}

/**
 * Reads base64 of PEM: 1 to 50 certificates, at most 256 KiB, each readable, and at least one that can vouch for a server
 * today. It need not be an authority: as in Go any certificate is a trust anchor. Throws `CaBundleError`. Spec: security.md T-14.
 */
export function caBundle(base64: string, nowMs: number): CaBundle {
  const pem = Buffer.from(base64, "base64").toString("utf8");
  const certificates = blocksOf(pem).map(certificateOf);
  const useless = certificates.flatMap((certificate) => uselessness(certificate, nowMs) ?? []);
  const [why] = useless;
  if (why !== undefined && useless.length === certificates.length) {
    throw new CaBundleError(`holds no certificate that can be used; the first one ${why}`);
  }
  const ends = certificates.map(({ validToDate }) => validToDate.getTime());
  const next = Math.min(...ends.filter((end) => end > nowMs));
  const ending = `holds a certificate that ends on ${dayOf(next)}`;
  const warnings = [
    ...new Set(useless.map((reason) => `holds a certificate that is not used: it ${reason}`)),
    ...(next - nowMs < soonMs ? [ending] : []),
  ];
  return { pem, warnings };
}

/**
 * A PEM text with nothing but its certificates: OpenSSL stumbles over what may stand around them, and would silently trust less. A
 * text without any stays as it is.
 */
export function bareCertificates(pem: string): string {
  const blocks = pem.match(block) ?? [];
  return blocks.length === 0 ? pem : `${blocks.join("\n")}\n`;
}

function blocksOf(pem: string): readonly string[] {
  if (pem.length > maxBytes) throw new CaBundleError("is larger than 256 KiB");
  const blocks = pem.match(block) ?? [];
  if (blocks.length === 0) throw new CaBundleError("holds no PEM certificate");
  if (blocks.length > maxCertificates) {
    throw new CaBundleError(`holds more than ${maxCertificates} certificates`);
  }
  return blocks;
}

function certificateOf(text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (cause) {
    throw new CaBundleError("holds a certificate that cannot be read", { cause });
  }
}

/** Why nothing can be verified with a certificate: OpenSSL refuses it wherever it stands in a chain. */
function uselessness(certificate: X509Certificate, nowMs: number): string | undefined {
  const { validToDate } = certificate;
  if (validToDate.getTime() <= nowMs) return `has expired on ${dayOf(validToDate.getTime())}`;
  const bits = rsaBits(certificate);
  return bits < minRsaBits
    ? `has an RSA key of ${bits} bits, and ${minRsaBits} are needed`
    : undefined;
}

function rsaBits({ publicKey }: X509Certificate): number {
  if (publicKey.asymmetricKeyType !== "rsa") return Number.POSITIVE_INFINITY;
  return publicKey.asymmetricKeyDetails?.modulusLength ?? Number.POSITIVE_INFINITY;
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}
