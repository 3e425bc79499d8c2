import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import { connect } from "node:tls";

import { expect, test } from "vitest";

import { issueAuthority, issueServing } from "../../../webhook/certificates/issue-certificate.ts";
import { portOf } from "../../fleet/ports.ts";

const validity = { notBeforeMs: Date.now() - 3_600_000, notAfterMs: Date.now() + 86_400_000 };
const names = [
  "knfleet-webhook.knfleet-system.svc",
  "knfleet-webhook.knfleet-system.svc.cluster.local",
];

test("an authority is ECDSA P-256 and may sign leaves only", async () => {
  const authority = await issueAuthority("knfleet webhook", validity);
  const certificate = new X509Certificate(authority.certificatePem);
  expect(certificate.ca).toBe(true);
  expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(createPrivateKey(authority.keyPem).asymmetricKeyType).toBe("ec");
});

test("a serving certificate is accepted by TLS for each of its names and for no other", async () => {
  const authority = await issueAuthority("knfleet webhook", validity);
  const serving = await issueServing(names, authority, validity);
  expect(
    new X509Certificate(serving.certificatePem).checkIssued(
      new X509Certificate(authority.certificatePem),
    ),
  ).toBe(true);
  const server = createServer({ cert: serving.certificatePem, key: serving.keyPem });
  server.on("tlsClientError", () => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  const shake = (servername: string) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const options = {
      host: "127.0.0.1",
      port: portOf(server.address()),
      servername,
      ca: authority.certificatePem,
    };
    const socket = connect(options, () => resolve("accepted"));
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    return promise.finally(() => socket.destroy());
  };
  expect(await Promise.all(names.map(shake))).toEqual(["accepted", "accepted"]);
  expect(await shake("other.svc")).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  server.close();
});
