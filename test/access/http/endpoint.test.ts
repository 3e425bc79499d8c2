import { inspect } from "node:util";

import { describe, expect, test } from "vitest";

import { type Endpoint, endpointOf, endpointWarnings } from "../../../access/http/endpoint.ts";
import { FleetError } from "../../../api/errors.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import { anyCaData, anyCaPem } from "../builders.ts";
import { longRsaEnd, longRsaPem, shortRsaPem } from "./rsa-certificates.ts";

type Options = Partial<Parameters<typeof endpointOf>[1]>;

function endpointNow(cluster: Parameters<typeof endpointOf>[0], options: Options = {}): Endpoint {
  return endpointOf(cluster, { nowMs: Date.now(), ...options });
}

const base = { server: "https://spoke-1.test:6443", "certificate-authority-data": anyCaData };

describe("a server (T-10)", () => {
  test.each([
    ["https://spoke-1.test:6443", "https://spoke-1.test:6443"],
    ["https://spoke-1.test", "https://spoke-1.test"],
    ["https://gw.test/v1/projects/1/x/", "https://gw.test/v1/projects/1/x"],
    ["HTTPS://SPOKE-1.TEST:6443", "https://spoke-1.test:6443"],
    ["https://[::1]:6443", "https://[::1]:6443"],
  ])("%s is reached at %s", (server, reached) => {
    expect(endpointNow({ ...base, server }).server).toBe(reached);
  });

  test.each([
    "",
    "spoke-1.test:6443",
    "10.0.0.1:6443",
    "http://spoke-1.test",
    "file:///etc/passwd",
    "unix:///run/api.sock",
    "https://user:secret@spoke-1.test",
    "https://@spoke-1.test",
    "https://:@spoke-1.test",
    "https://spoke-1.test?x=1",
    "https://spoke-1.test#x",
    "https:///path",
    "https://spoke-1.test:0",
    "https://spoke 1.test",
    "https://spoke-1.test\n",
    "https:\\\\spoke-1.test",
  ])("%j is refused", (server) => {
    expect(refusalOf({ ...base, server })).toBe("RemoteClientCreationFailed EndpointInvalid");
  });

  test.each([
    { name: "no cluster", cluster: null },
    { name: "a server of the wrong type", cluster: JSON.parse('{"server": 1}') },
  ])("$name is refused", ({ cluster }) => {
    expect(refusalOf(cluster)).toBe("RemoteClientCreationFailed EndpointInvalid");
  });
});

describe("trust (T-13)", () => {
  test("comes from the profile's CA", () => {
    expect(endpointNow(base).caPem).toBe(anyCaPem);
  });

  test("comes from the system only when the provider says so", () => {
    const { server } = base;
    expect(endpointNow({ server }, { systemRoots: true }).caPem).toBeUndefined();
    expect(refusalOf({ server })).toBe("RemoteClientCreationFailed EndpointInvalid");
  });

  test.each([
    { name: "a CA that is no PEM", override: { "certificate-authority-data": "aGVsbG8=" } },
    {
      name: "a CA with a broken certificate",
      override: {
        "certificate-authority-data": Buffer.from(
          "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        ).toString("base64"),
      },
    },
    { name: "skipping the verification", override: { "insecure-skip-tls-verify": true } },
    {
      name: "a path instead of a CA",
      override: { "certificate-authority-data": "", "certificate-authority": "/ca" },
    },
    { name: "a TLS name that is none", override: { "tls-server-name": "not a name" } },
  ])("$name is refused", ({ override }) => {
    expect(refusalOf({ ...base, ...override })).toBe("RemoteClientCreationFailed EndpointInvalid");
  });

  test("may be asked for another name", () => {
    expect(endpointNow({ ...base, "tls-server-name": "kube.internal" }).tlsServerName).toBe(
      "kube.internal",
    );
  });
});

describe("a proxy (T-15)", () => {
  test.each([
    ["http://proxy.test:3128", { protocol: "http:", host: "proxy.test", port: 3128 }],
    ["https://proxy.test", { protocol: "https:", host: "proxy.test", port: 443 }],
    ["http://[::1]", { protocol: "http:", host: "::1", port: 80 }],
    ["https://proxy.test:80/", { protocol: "https:", host: "proxy.test", port: 80 }],
    ["HTTP://PROXY.test:443/path", { protocol: "http:", host: "proxy.test", port: 443 }],
    ["socks5://PROXY.test", { protocol: "socks5:", host: "proxy.test", port: 1080 }],
    ["socks5h://proxy.test:80", { protocol: "socks5:", host: "proxy.test", port: 80 }],
  ])("%s is used", (url, proxy) => {
    expect(endpointNow({ ...base, "proxy-url": url }).proxy).toEqual(proxy);
  });

  test("with a user is used, and nothing of its login is printed", () => {
    const { proxy } = endpointNow({ ...base, "proxy-url": "http://canary:c%40nary@proxy.test" });
    expect(proxy?.login?.user.reveal()).toBe("canary");
    expect(proxy?.login?.password.reveal()).toBe("c@nary");
    expect(inspect(proxy, { depth: 9 }) + JSON.stringify(proxy)).not.toMatch(/nary/);
  });

  test.each([
    "ftp://p",
    "://",
    "10.0.0.9:3128",
    "http://p:99999",
    "http://p :1",
    "http://p:0",
    "http:///p",
    "socks4://p",
    "unix:///run/p",
    "http://us%zzer@p",
    "socks5://:word@p",
    `socks5://${"u".repeat(256)}:word@p`,
  ])("%s is refused, without a word of it (R51, T-15)", (url) => {
    const message = messageOf({ ...base, "proxy-url": url });
    expect(message).toMatch(/^\[EndpointInvalid\] The access entry is not usable: proxy-url /);
    expect(message).not.toMatch(/us%zzer|word@|uuu/);
  });
});

describe("a bundle of certificate authorities (T-14)", () => {
  const nowMs = Date.parse("2026-11-21T00:00:00Z");
  const dayMs = 86_400_000;
  const authority = createAuthority("bundle");
  const hosts = ["spoke-1.test"];
  const leaf = authority.issue({ commonName: "leaf", usage: "server", hosts }).certificatePem;
  const expired = authority.issue({ commonName: "old", usage: "server", hosts, expired: true });

  test("may be of one certificate that is no authority", () => {
    expect(endpointNow({ ...base, "certificate-authority-data": dataOf(leaf) }).caPem).toBe(leaf);
  });

  test("is used while one of its certificates can be, with a warning for the others", () => {
    const pem = expired.certificatePem + leaf;
    expect(endpointNow({ ...base, "certificate-authority-data": dataOf(pem) }).caPem).toBe(pem);
    expect(warningsOf(pem, Date.now()).join()).toMatch(/is not used: it has expired on \d{4}-/);
  });

  test("that ends soon is told", () => {
    expect(warningsOf(longRsaPem, Date.parse(longRsaEnd) - 31 * dayMs)).toEqual([]);
    expect(warningsOf(longRsaPem, Date.parse(longRsaEnd) - 29 * dayMs)).toEqual([
      "certificate-authority-data holds a certificate that ends on 2036-11-18",
    ]);
  });

  test.each([
    { name: "of expired certificates", pem: expired.certificatePem, says: "has expired on" },
    { name: "with a short RSA key", pem: shortRsaPem, says: "has an RSA key of 1024 bits" },
    { name: "of 51 certificates", pem: leaf.repeat(51), says: "more than 50 certificates" },
    { name: "of more than 256 KiB", pem: `${"x\n".repeat(131_072)}${leaf}`, says: "256 KiB" },
    { name: "with one that is broken", pem: leaf + leaf.replace("MII", "MIX"), says: "be read" },
  ])("$name is refused", ({ pem, says }) => {
    const message = messageOf({ ...base, "certificate-authority-data": dataOf(pem) });
    expect(message).toContain("[EndpointInvalid] The access entry is not usable: certificate-auth");
    expect(message).toContain(says);
  });

  test("as a path is told, and is not read (R47)", () => {
    const cluster = { server: base.server, "certificate-authority": "/x/ca.crt" };
    expect(endpointNow(cluster, { systemRoots: true }).caPem).toBeUndefined();
    expect(endpointWarnings(cluster, nowMs)).toEqual([
      "certificate-authority is a file path, and is ignored",
    ]);
  });
});

function warningsOf(pem: string, atMs: number): readonly string[] {
  return endpointWarnings({ ...base, "certificate-authority-data": dataOf(pem) }, atMs);
}

function dataOf(pem: string): string {
  return Buffer.from(pem).toString("base64");
}

function messageOf(cluster: Parameters<typeof endpointOf>[0]): string {
  try {
    endpointNow(cluster);
  } catch (error) {
    if (error instanceof FleetError) return error.message;
    throw error;
  }
  return "nothing";
}

function refusalOf(cluster: Parameters<typeof endpointOf>[0]): string {
  try {
    endpointNow(cluster);
  } catch (error) {
    if (error instanceof FleetError) return `${error.reason} ${error.code}`;
    throw error;
  }
  return "nothing";
}
