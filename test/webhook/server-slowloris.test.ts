import { connect as connectPlain } from "node:net";
import { connect, type TLSSocket } from "node:tls";

import { describe, expect, test } from "vitest";

import { requestLimits } from "../../webhook/server.ts";
import { reviewOf, serve, type Serving } from "./serving.ts";

const allow = () => Promise.resolve({ violations: [], warnings: [] });
const head =
  "POST /validate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n";

/** Connections that have shaken hands or were refused; a few at a time, because this process does both sides. */
async function connections(
  { server, authority }: Serving,
  count: number,
): Promise<readonly TLSSocket[]> {
  const sockets: TLSSocket[] = [];
  while (sockets.length < count) {
    const few = Array.from({ length: Math.min(20, count - sockets.length) }, () => {
      const options = { port: server.port, host: "127.0.0.1", ca: authority.certificatePem };
      return connect(options).on("error", () => undefined);
    });
    await Promise.all(
      few.map((socket) =>
        Promise.race([happens(socket, "secureConnect"), happens(socket, "close")]),
      ),
    );
    sockets.push(...few);
  }
  return sockets;
}

/** Unlike `once` of Node it does not mind an error before. */
function happens(socket: TLSSocket, event: "close" | "secureConnect"): Promise<void> {
  return new Promise((resolve) => socket.once(event, resolve));
}

/** Sends `first`, and then a text byte by byte on each socket, one a second. Returns the way to end it. */
function drip(sockets: readonly TLSSocket[], text: string, first = ""): () => void {
  for (const socket of sockets) if (first !== "") socket.write(first);
  let at = 0;
  const send = (): void => {
    for (const socket of sockets) if (socket.writable) socket.write(text[at % text.length] ?? " ");
    at += 1;
  };
  send();
  const timer = setInterval(send, 1_000);
  return () => clearInterval(timer);
}

test("T-70 a client has 10 s for the head of a request, and 15 s for all of it", () => {
  expect(requestLimits).toEqual({ headersTimeout: 10_000, requestTimeout: 15_000 });
});

// Shorter than those of the product: nothing else here takes time.
const limits = { headersTimeout: 4_000, requestTimeout: 5_000 };

// More than 2 s: the limits are those of Node's server, which takes no clock of ours, and have to be longer than 500 handshakes take.
describe("T-70 of 500 connections at a byte a second", () => {
  test("half with slow headers and half with slow bodies, none keeps other calls waiting, and all are ended", async () => {
    await using serving = await serve(allow, { limits });
    const sockets = await connections(serving, 500);
    const ended = Promise.all(sockets.map((socket) => happens(socket, "close")));
    const half = sockets.length / 2;
    const stops = [drip(sockets.slice(0, half), head), drip(sockets.slice(half), "x", head)];
    try {
      const statuses: number[] = [];
      for (let call = 0; call < 100; call += 1) {
        statuses.push((await serving.post("/validate", JSON.stringify(reviewOf()))).status);
      }
      expect(new Set(statuses)).toEqual(new Set([200]));
      await ended;
      expect(sockets.every(({ destroyed }) => destroyed)).toBe(true);
    } finally {
      for (const stop of stops) stop();
      for (const socket of sockets) socket.destroy();
    }
  }, 180_000);
});

test("T-70 more than 512 connections are not taken, and one that ends makes room", async () => {
  await using serving = await serve(allow);
  const { port } = serving.server;
  // Without handshakes, which take this process longer than the server waits for the first ones.
  const sockets = Array.from({ length: 520 }, () => connectPlain(port, "127.0.0.1").resume());
  let ended = 0;
  for (const socket of sockets) socket.on("error", () => undefined).on("close", () => (ended += 1));
  await expect.poll(() => ended, { timeout: 60_000 }).toBeGreaterThanOrEqual(8);
  expect(ended).toBe(8);
  for (const socket of sockets) socket.destroy();
  await expect
    .poll(async () => (await serving.send("GET", "/healthz").catch(() => undefined))?.status, {
      timeout: 60_000,
    })
    .toBe(200);
}, 180_000);
