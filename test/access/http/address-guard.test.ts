import { describe, expect, test } from "vitest";

import { addressGuard, type AddressRules } from "../../../access/http/address-guard.ts";
import { ConnectionError } from "../../../access/kube/api-error.ts";
import { authority, failureOf, get, requesterTo, stub, untilTheEnd } from "../loopback.ts";
import { startProxyStub } from "../proxy-stub.ts";

const signal = AbortSignal.timeout(600_000);
const inPod: AddressRules = { loopback: false };

function verdict(address: string, rules: AddressRules = inPod): string {
  try {
    addressGuard(rules).check(address);
    return "fine";
  } catch (error) {
    return error instanceof ConnectionError ? error.failure : "a bug";
  }
}

/** A resolver that gives these answers, one after another; the last one repeats. */
function names(...answers: readonly (readonly string[])[]): AddressRules["resolve"] {
  let asked = 0;
  return (_host, _options, callback) => {
    const answer = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    callback(
      null,
      answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
}

describe("an address (T-11)", () => {
  test.each([
    "127.0.0.1",
    "127.255.0.1",
    "::1",
    "[::1]",
    "0.0.0.0",
    "::",
    "169.254.169.254",
    "fe80::1",
    "224.0.0.1",
    "ff02::1",
    "255.255.255.255",
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "64:ff9b::169.254.169.254",
    "64:ff9b::7f00:1",
  ])("%s is refused", (address) => expect(verdict(address)).toBe("notAllowed"));

  test.each([
    "10.0.0.1",
    "192.168.1.1",
    "172.16.0.1",
    "203.0.113.7",
    "fd00::1",
    "64:ff9b::808:808",
  ])("%s is fine", (address) => expect(verdict(address)).toBe("fine"));

  test("of this machine is fine outside of a pod, and where a provider says so", () => {
    expect(verdict("127.0.0.1", { loopback: true })).toBe("fine");
    expect(verdict("169.254.169.254", { loopback: true })).toBe("notAllowed");
    expect(verdict("127.0.0.1", { loopback: false, allowed: ["127.0.0.0/8"] })).toBe("fine");
    expect(verdict("::ffff:127.0.0.1", { loopback: false, allowed: ["127.0.0.0/8"] })).toBe("fine");
    expect(verdict("127.0.0.1", { loopback: false, allowed: ["*.test"] })).toBe("notAllowed");
  });
});

describe("a name", () => {
  test("that leads to a refused address gets no connection and no credential", async () => {
    const api = await stub();
    const server = `https://kube.internal:${api.port}`;
    const guard = addressGuard({ ...inPod, resolve: names(["127.0.0.1"]) });
    const requester = requesterTo({ server }, undefined, { guard });
    expect(await failureOf(requester.send(get, signal))).toBe("notAllowed");
    expect(api.connections).toBe(0);
  });

  test("that changes its answer is looked at for each connection (DNS rebinding)", async () => {
    const api = await stub((times) => (times === 1 ? { reset: true } : {}));
    const server = `https://kube.internal:${api.port}`;
    // Loopback stands for the address of the spoke here, and is allowed; what the name leads to later is not.
    const resolve = names(["127.0.0.1"], ["169.254.169.254"]);
    const guard = addressGuard({ loopback: true, resolve });
    const requester = requesterTo({ server }, undefined, { guard });
    expect(await failureOf(requester.send(get, signal))).toBe("notAllowed");
    expect(api.connections).toBe(1);
  });

  test("with good and bad addresses is reached at a good one", async () => {
    const api = await stub();
    const server = `https://kube.internal:${api.port}`;
    const resolve = names(["169.254.169.254", "127.0.0.1"]);
    const guard = addressGuard({ loopback: true, resolve });
    const answer = await requesterTo({ server }, undefined, { guard }).send(get, signal);
    expect(answer.status).toBe(200);
  });
});

test("a server that is itself a refused address gets no connection, in any spelling", async () => {
  const api = await stub();
  const guard = addressGuard(inPod);
  for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]"]) {
    const { origin } = new URL(`https://${host}:${api.port}`);
    const requester = requesterTo({ server: origin }, undefined, { guard });
    expect(await failureOf(requester.send(get, signal))).toBe("notAllowed");
  }
  expect(api.connections).toBe(0);
});

test("a proxy that leads to a refused address is not asked", async () => {
  const proxy = untilTheEnd(await startProxyStub());
  const endpoint = {
    server: "https://spoke.test:6443",
    caPem: authority.certificatePem,
    proxy: { protocol: "http:", host: "127.0.0.1", port: proxy.port },
  } as const;
  const requester = requesterTo(endpoint, undefined, { guard: addressGuard(inPod) });
  expect(await failureOf(requester.send(get, signal))).toBe("notAllowed");
  expect(proxy.asked).toEqual([]);
});

test("a server with a path prefix that speaks only HTTP/1.1 is reached through a proxy", async () => {
  const api = await stub(() => ({}), { http1: true });
  const proxy = untilTheEnd(await startProxyStub());
  const endpoint = {
    server: `${api.server}/spoke-1`,
    proxy: { protocol: "http:", host: "127.0.0.1", port: proxy.port },
  } as const;
  expect((await requesterTo(endpoint).send(get, signal)).status).toBe(200);
  expect(api.requests[0]?.path).toBe("/spoke-1/version");
});
