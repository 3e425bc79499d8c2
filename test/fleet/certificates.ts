import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import { isIP } from "node:net";

import {
  bits,
  der,
  explicit,
  integer,
  octets,
  oid,
  sequence,
  setOf,
  text,
  utcTime,
  yes,
} from "./der.ts";

/** A certificate with its private key, both PEM. */
export interface KeyPair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** Whom a certificate names and what it may be used for. Kubernetes reads user and groups of a client from it. */
export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usage: "client" | "server";
  /** DNS names and IPv4 addresses that a server answers to. */
  readonly hosts?: readonly string[];
  /** It ended an hour ago. */
  readonly expired?: boolean;
}

/** A certificate authority for one test cluster: EC P-256, valid for 90 days from yesterday, so that nobody is warned of its end. */
export interface CertificateAuthority {
  readonly certificatePem: string;
  readonly keyPem: string;
  issue(request: CertificateRequest): KeyPair;
}

interface Subject {
  readonly name: Buffer;
  readonly key: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly endsAtMs?: number;
}

const ecdsaWithSha256 = "1.2.840.10045.4.3.2";
const dayMs = 86_400_000;
const hourMs = 3_600_000;

/** Makes a new authority; keys are created now and stay in memory. Format: RFC 5280. */
export function createAuthority(commonName: string): CertificateAuthority {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = distinguishedName(commonName, []);
  const certificate = (subject: Subject) => certify(subject, issuer, keys);
  return {
    certificatePem: certificate({
      name: issuer,
      key: keys.publicKey,
      extensions: authorityExtensions(),
    }),
    keyPem: pemOfKey(keys.privateKey),
    issue(request) {
      const own = generateKeyPairSync("ec", { namedCurve: "P-256" });
      return {
        certificatePem: certificate({
          name: distinguishedName(request.commonName, request.organizations ?? []),
          key: own.publicKey,
          extensions: leafExtensions(request),
          ...(request.expired === true ? { endsAtMs: Date.now() - hourMs } : {}),
        }),
        keyPem: pemOfKey(own.privateKey),
      };
    },
  };
}

/** Makes a certificate that nobody but itself vouches for, and that may sign nothing. */
export function createSelfSigned(request: CertificateRequest): KeyPair {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = distinguishedName(request.commonName, request.organizations ?? []);
  const subject = { name, key: keys.publicKey, extensions: leafExtensions(request) };
  return { certificatePem: certify(subject, name, keys), keyPem: pemOfKey(keys.privateKey) };
}

/** A key pair without a certificate, PEM, as kube-apiserver signs ServiceAccount tokens with. */
export function createSigningKey(): { readonly privatePem: string; readonly publicPem: string } {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    privatePem: pemOfKey(keys.privateKey),
    publicPem: String(keys.publicKey.export({ type: "spki", format: "pem" })),
  };
}

function certify(
  subject: Subject,
  issuer: Buffer,
  keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
): string {
  const now = Date.now();
  const algorithm = sequence(oid(ecdsaWithSha256));
  const toBeSigned = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    algorithm,
    issuer,
    sequence(
      utcTime(new Date(now - dayMs)),
      utcTime(new Date(subject.endsAtMs ?? now + 90 * dayMs)),
    ),
    subject.name,
    spki(subject.key),
    explicit(
      3,
      sequence(
        ...subject.extensions,
        extension("2.5.29.14", octets(keyId(subject.key))),
        extension("2.5.29.35", sequence(der(0x80, keyId(keys.publicKey)))),
      ),
    ),
  );
  const signature = sign("sha256", toBeSigned, { key: keys.privateKey, dsaEncoding: "der" });
  return pem("CERTIFICATE", sequence(toBeSigned, algorithm, bits(signature)));
}

function authorityExtensions(): Buffer[] {
  return [
    extension("2.5.29.19", sequence(yes()), "critical"),
    // keyCertSign, cRLSign and digitalSignature: bits 5, 6 and 0.
    extension("2.5.29.15", bits(Buffer.from([0b1000_0110]), 1), "critical"),
  ];
}

function leafExtensions(request: CertificateRequest): Buffer[] {
  const purpose = request.usage === "client" ? "1.3.6.1.5.5.7.3.2" : "1.3.6.1.5.5.7.3.1";
  const hosts = (request.hosts ?? []).map((host) =>
    isIP(host) === 4
      ? der(0x87, Buffer.from(host.split(".").map(Number)))
      : der(0x82, Buffer.from(host, "ascii")),
  );
  return [
    extension("2.5.29.19", sequence(), "critical"),
    extension("2.5.29.15", bits(Buffer.from([0b1000_0000]), 7), "critical"),
    extension("2.5.29.37", sequence(oid(purpose))),
    ...(hosts.length === 0 ? [] : [extension("2.5.29.17", sequence(...hosts))]),
  ];
}

function extension(id: string, value: Buffer, critical?: "critical"): Buffer {
  return critical === undefined
    ? sequence(oid(id), octets(value))
    : sequence(oid(id), yes(), octets(value));
}

function distinguishedName(commonName: string, organizations: readonly string[]): Buffer {
  return sequence(
    ...organizations.map((organization) => nameAttribute("2.5.4.10", organization)),
    nameAttribute("2.5.4.3", commonName),
  );
}

function nameAttribute(id: string, value: string): Buffer {
  return setOf(sequence(oid(id), text(value)));
}

// RFC 5280 4.1.2.2 wants a positive number without needless leading zeros.
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = 0x40 | ((bytes[0] ?? 0) & 0x3f);
  return bytes;
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

function keyId(key: KeyObject): Buffer {
  return createHash("sha1").update(spki(key)).digest();
}

function pemOfKey(key: KeyObject): string {
  return String(key.export({ type: "pkcs8", format: "pem" }));
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
