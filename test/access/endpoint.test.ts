import { describe, expect, test } from "vitest";

import { endpointOf } from "../../access/endpoint.ts";
import { FleetError } from "../../api/errors.ts";
import { anyCaData, anyCaPem } from "./builders.ts";

const base = { server: "https://spoke-1.test:6443", "certificate-authority-data": anyCaData };

describe("a server", () => {
  test.each([
    ["https://spoke-1.test:6443", "https://spoke-1.test:6443"],
    ["https://spoke-1.test", "https://spoke-1.test"],
    ["https://gw.test/v1/projects/1/x/", "https://gw.test/v1/projects/1/x"],
    ["HTTPS://SPOKE-1.TEST:6443", "https://spoke-1.test:6443"],
    ["https://[::1]:6443", "https://[::1]:6443"],
  ])("%s is reached at %s", (server, reached) => {
    expect(endpointOf({ ...base, server }).server).toBe(reached);
  });

  test.each([
    "",
    "spoke-1.test:6443",
    "10.0.0.1:6443",
    "http://spoke-1.test",
    "file:///etc/passwd",
    "unix:///run/api.sock",
    "https://user:secret@spoke-1.test",
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

describe("trust", () => {
  test("comes from the profile's CA", () => {
    expect(endpointOf(base).caPem).toBe(anyCaPem);
  });

  test("comes from the system only when the provider says so", () => {
    const { server } = base;
    expect(endpointOf({ server }, { systemRoots: true }).caPem).toBeUndefined();
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
    expect(endpointOf({ ...base, "tls-server-name": "kube.internal" }).tlsServerName).toBe(
      "kube.internal",
    );
  });
});

describe("a proxy", () => {
  test.each([
    ["http://proxy.test:3128", { protocol: "http:", host: "proxy.test", port: 3128 }],
    ["https://proxy.test", { protocol: "https:", host: "proxy.test", port: 443 }],
    ["http://[::1]", { protocol: "http:", host: "::1", port: 80 }],
  ])("%s is used", (url, proxy) => {
    expect(endpointOf({ ...base, "proxy-url": url }).proxy).toEqual(proxy);
  });

  test("with a user is used, and its password is not printed", () => {
    const { proxy } = endpointOf({ ...base, "proxy-url": "http://user:canary@proxy.test" });
    expect(proxy?.authorization?.reveal()).toBe(
      `Basic ${Buffer.from("user:canary").toString("base64")}`,
    );
    expect(JSON.stringify(proxy)).not.toContain("Basic");
  });

  test.each(["ftp://p", "://", "10.0.0.9:3128", "http://p:99999", "http://p :1"])(
    "%s is refused",
    (url) => {
      expect(refusalOf({ ...base, "proxy-url": url })).toBe(
        "RemoteClientCreationFailed EndpointInvalid",
      );
    },
  );
});

function refusalOf(cluster: Parameters<typeof endpointOf>[0]): string {
  try {
    endpointOf(cluster);
  } catch (error) {
    if (error instanceof FleetError) return `${error.reason} ${error.code}`;
    throw error;
  }
  return "nothing";
}
