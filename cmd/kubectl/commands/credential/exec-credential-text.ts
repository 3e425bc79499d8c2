import type { Credential } from "../../../../access/plugins/credential.ts";
import { timestampOf } from "../../../../api/conditions.ts";
import type { ExecRequest } from "./exec-request.ts";

/** The answer of a credential plugin, with the credential in it: for the standard output that a client reads, and for nothing else. */
export function execCredentialText(
  { authorization, certificate, expiresAtMs }: Credential,
  { apiVersion }: Pick<ExecRequest, "apiVersion">,
): string {
  const token = authorization && tokenOf(authorization.reveal());
  const status = {
    ...(expiresAtMs === undefined
      ? {}
      : { expirationTimestamp: timestampOf(new Date(expiresAtMs)) }),
    ...(token === undefined ? {} : { token }),
    ...(certificate === undefined
      ? {}
      : {
          clientCertificateData: certificate.certificatePem,
          clientKeyData: certificate.keyPem.reveal(),
        }),
  };
  return `${JSON.stringify({ kind: "ExecCredential", apiVersion, status })}\n`;
}

/** A header carries the bytes of UTF-8, each as a character; JSON carries the text. */
function tokenOf(header: string): string {
  return Buffer.from(header.replace(/^Bearer /, ""), "latin1").toString("utf8");
}
