import { getEventListeners } from "node:events";

import { expect, test } from "vitest";

import { Lane, type LaneOptions } from "../../../access/http/lane.ts";
import type { EndpointProxy } from "../../../access/http/proxy-url.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { freePort } from "../../fleet/ports.ts";
import { authority, stub, untilTheEnd } from "../loopback.ts";
import { startProxyStub } from "../proxy-stub.ts";
import { startSocksStub } from "./socks-stub.ts";

const limit = AbortSignal.timeout(600_000);
const get = { method: "GET", path: "/version" } as const;
const ended = Object.assign(new Error("Ended"), { code: "UND_ERR_CLOSED" });

/** How a connection is made. */
interface Way {
  readonly proxied?: "http:" | "socks5:";
  readonly isGuarded?: boolean;
  readonly http1?: boolean;
}

const ways: readonly Way[] = [
  {},
  { isGuarded: true },
  { proxied: "http:" },
  { proxied: "socks5:" },
  { http1: true },
  { http1: true, isGuarded: true },
];

/** A lane to a server, and the signal that lives as long as its owner. */
function laneTo(server: string, more: Partial<LaneOptions>) {
  const { signal } = new AbortController();
  const lane = new Lane(server, {
    clock: systemClock,
    endpoint: { server, caPem: authority.certificatePem },
    connectTimeoutMs: 5_000,
    signal,
    onBroken: () => undefined,
    ...more,
  });
  return { lane, listeners: () => getEventListeners(signal, "abort").length };
}

async function proxyOf(protocol: "http:" | "socks5:"): Promise<EndpointProxy> {
  const { port } = untilTheEnd(await (protocol === "http:" ? startProxyStub() : startSocksStub()));
  return { protocol, host: "127.0.0.1", port };
}

test.each(ways)("a connection that has ended is held by nothing ($0)", async (way) => {
  const { proxied, isGuarded = false, http1 = false } = way;
  const api = await stub(undefined, { http1 });
  const proxy = proxied === undefined ? {} : { proxy: await proxyOf(proxied) };
  const { lane, listeners } = laneTo(api.server, {
    endpoint: { server: api.server, caPem: authority.certificatePem, ...proxy },
    ...(isGuarded ? { mayWrite: () => true } : {}),
  });
  const { body } = await lane.request(get, limit);
  await body.dump();
  expect(listeners()).toBeGreaterThan(0);
  await lane.destroy(ended);
  expect(listeners()).toBe(0);
});

test.each([{}, { mayWrite: () => true }])(
  "nor is one that could not be made ($0)",
  async (more) => {
    const { lane, listeners } = laneTo(`https://127.0.0.1:${await freePort()}`, more);
    await expect(lane.request(get, limit)).rejects.toThrow("ECONNREFUSED");
    await lane.destroy(ended);
    expect(listeners()).toBe(0);
  },
);
