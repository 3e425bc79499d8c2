import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { setImmediate } from "node:timers/promises";
import { inspect } from "node:util";

import { describe, expect, onTestFinished, test } from "vitest";

import type { EndpointProxy } from "../../../access/http/proxy-url.ts";
import { openSocksTunnel } from "../../../access/http/socks.ts";
import { Secret } from "../../../access/plugins/credential.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import { freePort, portOf } from "../../fleet/ports.ts";
import { authority, get, requesterTo, stub, untilTheEnd } from "../loopback.ts";
import { startProxyStub } from "../proxy-stub.ts";
import { startSocksStub } from "./socks-stub.ts";

const signal = AbortSignal.timeout(600_000);

describe("a proxy", () => {
  test("carries one tunnel with its password, not one for each request (T06)", async () => {
    const api = await stub();
    const proxy = await startProxyStub();
    untilTheEnd(proxy);
    const requester = requesterTo({
      server: api.server,
      proxy: {
        protocol: "http:",
        host: "127.0.0.1",
        port: proxy.port,
        login: { user: new Secret("u"), password: new Secret("p") },
      },
    });
    await Promise.all(Array.from({ length: 10 }, () => requester.send(get, signal)));
    expect(proxy.asked).toEqual([{ target: `127.0.0.1:${api.port}`, authorization: "Basic dTpw" }]);
  });

  test("that says no is an error", async () => {
    const api = await stub();
    const proxy = await startProxyStub(407);
    untilTheEnd(proxy);
    const requester = requesterTo({
      server: api.server,
      proxy: { protocol: "http:", host: "127.0.0.1", port: proxy.port },
    });
    const refusal = requester.send(get, signal);
    await expect(refusal).rejects.toThrow(
      `The proxy 127.0.0.1:${proxy.port} of 127.0.0.1:${api.port} answered 407 to CONNECT`,
    );
  });

  test("that is not there is told from a server that is not there", async () => {
    const port = await freePort();
    const requester = requesterTo({
      server: "https://spoke.test:6443",
      proxy: { protocol: "http:", host: "127.0.0.1", port },
    });
    await expect(requester.send({ ...get, idempotent: false }, signal)).rejects.toThrow(
      `The proxy 127.0.0.1:${port} of spoke.test:6443 refused the connection (ECONNREFUSED)`,
    );
  });
});

test("a plain http server is reached through a proxy too", async () => {
  const api = createHttpServer((_request, response) => void response.end("{}"));
  api.listen(0, "127.0.0.1");
  await once(api, "listening");
  onTestFinished(() => void api.close());
  const proxy = untilTheEnd(await startProxyStub());
  const server = `http://127.0.0.1:${portOf(api.address())}`;
  const requester = requesterTo({ server, proxy: { ...socks(proxy), protocol: "http:" } });
  expect((await requester.send(get, signal)).status).toBe(200);
  expect(proxy.asked).toHaveLength(1);
});

test.each([
  { by: "the profile's CA (T07)", signedBy: authority, says: "200" },
  { by: "nobody that is trusted (T07)", signedBy: createAuthority("other"), says: "not trusted" },
])("a proxy with TLS is verified, signed by $by", async ({ signedBy, says }) => {
  const api = await stub();
  const request = { commonName: "proxy", usage: "server", hosts: ["127.0.0.1"] } as const;
  const proxy = untilTheEnd(await startProxyStub(200, signedBy.issue(request)));
  const requester = requesterTo({
    server: api.server,
    proxy: { ...socks(proxy), protocol: "https:" },
  });
  const outcome = requester.send({ ...get, idempotent: false }, signal);
  expect(await outcome.then(({ status }) => String(status), String)).toContain(says);
  expect(api.requests).toHaveLength(says === "200" ? 1 : 0);
});

test("no answer is asked for in compressed form, whatever disable-compression says (T12)", async () => {
  const asked: (string | undefined)[] = [];
  const api = createHttpServer(({ headers }, response) => {
    asked.push(headers["accept-encoding"]);
    response.end("{}");
  });
  api.listen(0, "127.0.0.1");
  await once(api, "listening");
  onTestFinished(() => void api.close());
  await requesterTo({ server: `http://127.0.0.1:${portOf(api.address())}` }).send(get, signal);
  expect(asked).toEqual([undefined]);
});

describe("a SOCKS 5 proxy", () => {
  const login = { user: new Secret("us:er"), password: new Secret("wörd") };

  test("is told user and password, and the server's name (T08)", async () => {
    const api = await stub();
    const proxy = await startSocksStub({
      login: "us:er:wörd",
      hosts: { "spoke.test": "127.0.0.1" },
    });
    untilTheEnd(proxy);
    const requester = requesterTo({
      server: `https://spoke.test:${api.port}`,
      tlsServerName: "kube.internal",
      caPem: authority.certificatePem,
      proxy: { protocol: "socks5:", host: "127.0.0.1", port: proxy.port, login },
    });
    await Promise.all(Array.from({ length: 10 }, () => requester.send(get, signal)));
    expect(proxy.asked).toEqual([`spoke.test:${api.port}`]);
    expect(proxy.logins).toEqual(["us:er:wörd"]);
  });

  test.each([
    { what: "an IPv4 address", server: "https://10.0.0.9:6443", asked: "10.0.0.9:6443" },
    { what: "an IPv6 address", server: "https://[fd00::9:1]", asked: "fd00:0:0:0:0:0:9:1:443" },
  ])("is given $what as it is", async ({ server, asked }) => {
    const proxy = await startSocksStub({ reply: 5 });
    untilTheEnd(proxy);
    const requester = requesterTo({ server, proxy: socks(proxy) });
    await expect(requester.send({ ...get, idempotent: false }, signal)).rejects.toThrow(
      "was refused by the server",
    );
    expect(proxy.asked).toEqual([asked]);
  });

  test("hands on what the server says with the reply, however late it is read", async () => {
    const api = await stub();
    const { port } = untilTheEnd(await startSocksStub({ early: "first bytes" }));
    const proxy = { protocol: "socks5:", host: "127.0.0.1", port } as const;
    const target = { host: "127.0.0.1", port: api.port };
    const socket = await openSocksTunnel(proxy, target, { connectTimeoutMs: 5_000, signal });
    onTestFinished(() => void socket.destroy());
    await setImmediate();
    await setImmediate();
    expect(String(socket.read())).toBe("first bytes");
  });

  test.each([
    { what: "wants a login", rules: { login: "a:b" }, says: "wants a login" },
    { what: "knows another login", rules: { login: "a:b" }, login, says: "does not accept the" },
    {
      what: "is none",
      rules: { banner: "HTTP/1.1 400 No\r\n\r\n" },
      says: "does not speak SOCKS 5",
    },
    { what: "hangs up", rules: { banner: "" }, says: "closed the connection" },
    { what: "forbids the server", rules: { reply: 2 }, says: "does not allow the connection" },
  ])("that $what is an error without the login", async ({ rules, says, ...known }) => {
    const proxy = await startSocksStub(rules);
    untilTheEnd(proxy);
    const requester = requesterTo({
      server: "https://spoke.test:6443",
      proxy: { ...socks(proxy), ...known },
    });
    const work = requester.send({ ...get, idempotent: false }, signal);
    const text = await work.then(String, inspect);
    expect(text).toContain(`The proxy 127.0.0.1:${proxy.port} of spoke.test:6443 ${says}`);
    expect(text).not.toMatch(/us:er|wörd/);
  });
});

function socks({ port }: { readonly port: number }): EndpointProxy {
  return { protocol: "socks5:", host: "127.0.0.1", port };
}
