// oxlint-disable-next-line import/no-unassigned-import -- the library that makes certificates wants it loaded before
import "reflect-metadata";
import { webcrypto } from "node:crypto";

import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** A certificate and its private key (PKCS #8), both PEM. */
export interface KeyPair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** When a certificate is valid, in milliseconds of Unix time. */
export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** A new certificate authority: ECDSA P-256, signed by itself, for leaves only. Format: RFC 5280. */
export async function issueAuthority(commonName: string, validity: Validity): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      ...termsOf(validity),
      name: `CN=${commonName}`,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return pairOf(certificate, keys.privateKey);
}

/** A new serving certificate for DNS names, signed by an authority. Throws when the authority's PEM texts cannot be read. */
export async function issueServing(
  dnsNames: readonly string[],
  authority: KeyPair,
  validity: Validity,
): Promise<KeyPair> {
  const issuer = new X509Certificate(authority.certificatePem);
  const [pkcs8] = PemConverter.decode(authority.keyPem);
  if (pkcs8 === undefined) throw new Error("The authority has no private key");
  const signingKey = await webcrypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"]);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.create(
    {
      ...termsOf(validity),
      issuer: issuer.subject,
      signingKey,
      publicKey: keys.publicKey,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth], false),
        new SubjectAlternativeNameExtension(
          dnsNames.map((value) => ({ type: "dns" as const, value })),
          // Without a subject the names are the only identity, which RFC 5280 4.2.1.6 wants marked critical.
          true,
        ),
        await AuthorityKeyIdentifierExtension.create(issuer.publicKey, false, webcrypto),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return pairOf(certificate, keys.privateKey);
}

function termsOf({ notBeforeMs, notAfterMs }: Validity): {
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly signingAlgorithm: typeof algorithm;
} {
  return {
    notBefore: new Date(notBeforeMs),
    notAfter: new Date(notAfterMs),
    signingAlgorithm: algorithm,
  };
}

async function pairOf(
  certificate: X509Certificate,
  privateKey: webcrypto.CryptoKey,
): Promise<KeyPair> {
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", privateKey);
  return {
    certificatePem: `${certificate.toString("pem")}\n`,
    keyPem: `${PemConverter.encode(pkcs8, "PRIVATE KEY")}\n`,
  };
}
