import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:tls";

import { describe, expect, test } from "vitest";

import { createAuthority } from "./certificates.ts";
import { portOf } from "./ports.ts";

const authority = createAuthority("test-ca");

describe("a test authority", () => {
  test("is an authority and signs for itself", () => {
    const certificate = new X509Certificate(authority.certificatePem);
    expect(certificate.ca).toBe(true);
    expect(certificate.checkIssued(certificate)).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
  });

  test("issues a client certificate with user, groups and matching key", () => {
    const { certificatePem, keyPem } = authority.issue({
      commonName: "jane",
      organizations: ["system:masters", "staff"],
      usage: "client",
    });
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.subject.split("\n")).toEqual(["O=system:masters", "O=staff", "CN=jane"]);
    expect(certificate.verify(new X509Certificate(authority.certificatePem).publicKey)).toBe(true);
    expect(certificate.ca).toBe(false);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(keyPem).toContain("PRIVATE KEY");
  });

  test("issues certificates that are valid now and have different serial numbers", () => {
    const [one, other] = [1, 2].map(
      () =>
        new X509Certificate(authority.issue({ commonName: "x", usage: "client" }).certificatePem),
    );
    expect(Date.parse(one?.validFrom ?? "")).toBeLessThan(Date.now());
    expect(Date.parse(one?.validTo ?? "")).toBeGreaterThan(Date.now());
    expect(one?.serialNumber).not.toBe(other?.serialNumber);
  });

  test.each(["127.0.0.1", "hook.ns.svc"])("serves TLS for %s", async (host) => {
    const pair = authority.issue({
      commonName: "server",
      usage: "server",
      hosts: ["127.0.0.1", "hook.ns.svc"],
    });
    const server = createServer({ cert: pair.certificatePem, key: pair.keyPem });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = connect({
      host: "127.0.0.1",
      port: portOf(server.address()),
      ca: authority.certificatePem,
      ...(host === "127.0.0.1" ? {} : { servername: host }),
    });
    await once(socket, "secureConnect");
    expect(socket.authorized).toBe(true);
    socket.destroy();
    server.close();
  });
});
