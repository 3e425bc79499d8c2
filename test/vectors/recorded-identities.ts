import {
  type CertificateAuthority,
  createAuthority,
  createSelfSigned,
  type KeyPair,
} from "../fleet/certificates.ts";

/** Certificates of the recorded cases. */
export interface RecordedIdentities {
  /** Signs the servers. */
  readonly authority: CertificateAuthority;
  /** By `cert` of the case: absent is `usual`. */
  readonly servers: Readonly<Record<string, KeyPair>>;
  /** Texts by the names that plugins print, such as `CERT:c1`. */
  readonly pems: Readonly<Record<string, string>>;
  /** An authority that signed nothing. */
  readonly unrelatedPem: string;
}

/** Makes certificates for a run of the recorded cases. */
export function recordedIdentities(): RecordedIdentities {
  const authority = createAuthority("CA1");
  const local = { commonName: "api", usage: "server", hosts: ["127.0.0.1", "localhost"] } as const;
  const clients = ["c1", "c2", "cexp"].map((commonName) => {
    const expired = commonName === "cexp";
    return [commonName, authority.issue({ commonName, usage: "client", expired })] as const;
  });
  return {
    authority,
    unrelatedPem: createAuthority("CA2").certificatePem,
    servers: {
      usual: authority.issue(local),
      self: createSelfSigned(local),
      named: authority.issue({ ...local, hosts: ["kube.internal"] }),
      expired: authority.issue({ ...local, expired: true }),
    },
    pems: Object.fromEntries(
      [...clients, ["ca1", authority] as const].flatMap(([name, { certificatePem, keyPem }]) => [
        [`CERT:${name}`, certificatePem],
        [`KEY:${name}`, keyPem],
      ]),
    ),
  };
}
