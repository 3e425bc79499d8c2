import { describe, expect, test } from "vitest";

import { environmentProxy } from "../../../access/http/environment-proxy.ts";
import { describeProxy } from "../../../access/http/proxy-url.ts";

function proxyFor(server: string, environment: Readonly<Record<string, string>>): string {
  const proxy = environmentProxy(new URL(server), environment);
  return proxy === undefined ? "none" : `${proxy.protocol}//${describeProxy(proxy)}`;
}

describe("the proxy of the environment, as Go finds it", () => {
  test.each([
    [{}, "none"],
    [{ HTTPS_PROXY: "" }, "none"],
    [{ HTTPS_PROXY: "http://p.test:3128" }, "http://p.test:3128 (HTTPS_PROXY)"],
    [{ https_proxy: "http://p.test:3128" }, "http://p.test:3128 (https_proxy)"],
    [
      { HTTPS_PROXY: "http://upper.test", https_proxy: "http://lower.test" },
      "http://upper.test:80 (HTTPS_PROXY)",
    ],
    [{ HTTPS_PROXY: "p.test:3128" }, "http://p.test:3128 (HTTPS_PROXY)"],
    [{ HTTPS_PROXY: "socks5://p.test" }, "socks5://p.test:1080 (HTTPS_PROXY)"],
    [{ HTTP_PROXY: "http://p.test", ALL_PROXY: "http://p.test" }, "none"],
  ])("%o: %s", (environment, is) => {
    expect(proxyFor("https://hub.example.com:6443", environment)).toBe(is);
  });

  test("is another one for an http server", () => {
    const environment = { HTTP_PROXY: "http://plain.test:1", HTTPS_PROXY: "http://p.test:2" };
    expect(proxyFor("http://hub.example.com", environment)).toBe(
      "http://plain.test:1 (HTTP_PROXY)",
    );
  });

  test.each(["ftp://p.test", "http://"])("that cannot be used is named: %s", (text) => {
    expect(() => proxyFor("https://hub.test", { HTTPS_PROXY: text })).toThrow(/^HTTPS_PROXY has /);
  });
});

test.each(["localhost", "127.0.0.1:6443", "127.9.9.9", "[::1]:6443"])(
  "loopback never goes through a proxy: %s",
  (host) => {
    expect(proxyFor(`https://${host}`, { HTTPS_PROXY: "http://p.test" })).toBe("none");
  },
);

describe("NO_PROXY", () => {
  test.each([
    ["hub.example.com:6443", "hub.example.com"],
    ["hub.example.com:6443", "example.com"],
    ["hub.example.com:6443", "HUB.Example.com"],
    ["hub.example.com:6443", ".example.com"],
    ["hub.example.com:6443", "*.example.com"],
    ["hub.example.com:6443", "a.test, hub.example.com:6443"],
    ["hub.example.com", "hub.example.com:443"],
    ["hub.example.com:6443", "*"],
    ["10.1.2.3:6443", "10.0.0.0/8"],
    ["10.1.2.3:6443", "10.1.2.3"],
    ["10.1.2.3:6443", "10.1.2.3:6443"],
    ["[fd00::1]:6443", "fd00::/8"],
    ["[fd00::1]:6443", "fd00::1"],
    ["[fd00::1]:6443", "[fd00::1]:6443"],
  ])("leaves out %s by %s", (host, exceptions) => {
    const environment = { HTTPS_PROXY: "http://p.test", no_proxy: exceptions };
    expect(proxyFor(`https://${host}`, environment)).toBe("none");
  });

  test.each([
    ["hub.example.com:6443", ""],
    ["hub.example.com:6443", "hub.example.com:443"],
    ["hub.example.com:6443", ":6443,,"],
    ["hub.example.com:6443", "ub.example.com"],
    ["example.com", ".example.com"],
    ["example.com", "*.example.com"],
    ["hub.example.com:6443", "10.0.0.0/8"],
    ["11.1.2.3:6443", "10.0.0.0/8"],
    ["10.1.2.3:6443", "10.1.2.3:443"],
    ["10.1.2.3:6443", "10.1.2.3/99"],
  ])("does not leave out %s by %j", (host, exceptions) => {
    const environment = { HTTPS_PROXY: "http://p.test", NO_PROXY: exceptions };
    expect(proxyFor(`https://${host}`, environment)).toBe("http://p.test:80 (HTTPS_PROXY)");
  });
});
