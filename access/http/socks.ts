import { once } from "node:events";
import { isIP, type LookupFunction, Socket } from "node:net";

import type { EndpointProxy } from "./proxy-url.ts";

/** Host, without the brackets of IPv6, and port of a server. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

const version = 5;
const methods = { none: 0, password: 2 } as const;
const passwordVersion = 1;
const connect = 1;
const addressTypes = { ipv4: 1, name: 3, ipv6: 4 } as const;

/** The proxy refused, or does not speak SOCKS 5. The message is ours. */
export class SocksError extends Error {
  override readonly name = "SocksError";
}

// RFC 1928, section 6.
const refusals: Readonly<Record<number, string>> = {
  1: "failed",
  2: "does not allow the connection",
  3: "does not reach the network of the server",
  4: "does not reach the server",
  5: "was refused by the server",
  6: "gave up in time",
  7: "does not know CONNECT",
  8: "does not know the kind of address",
};

/**
 * Opens a connection to a server through a SOCKS 5 proxy, which also looks up the server's name. Rejects with
 * `SocksError`, or as the socket does. Spec: RFC 1928, RFC 1929. Not the package `socks` 2.8, because that loses bytes of the server that come with the reply
 * of the proxy, keeps the login in its errors, and drops the codes of socket errors.
 */
export async function openSocksTunnel(
  { host, port, login }: EndpointProxy,
  target: ServerAddress,
  { connectTimeoutMs, signal, lookup }: SocksLimits,
): Promise<Socket> {
  const socket = new Socket({ signal });
  try {
    socket.setTimeout(connectTimeoutMs, () => {
      const late = new Error("The proxy did not answer in time");
      socket.destroy(Object.assign(late, { code: "ETIMEDOUT" }));
    });
    socket.connect({ host, port, ...(lookup === undefined ? {} : { lookup }) });
    await once(socket, "connect");
    await greet(socket, login);
    await requestConnection(socket, target);
    socket.setTimeout(0);
    return socket;
  } catch (error) {
    // A later error event has no other listener.
    socket.on("error", () => undefined).destroy();
    throw error;
  }
}

interface SocksLimits {
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
  readonly lookup?: LookupFunction;
}

async function greet(socket: Socket, login: EndpointProxy["login"]): Promise<void> {
  const offered = login === undefined ? [methods.none] : [methods.none, methods.password];
  socket.write(Buffer.from([version, offered.length, ...offered]));
  const [spoken, method] = await readBytes(socket, 2);
  if (spoken !== version) throw new SocksError("does not speak SOCKS 5");
  if (method === methods.none) return;
  if (method !== methods.password || login === undefined) {
    throw new SocksError("wants a login that proxy-url does not have");
  }
  const parts = [login.user, login.password].map((part) => Buffer.from(part.reveal(), "utf8"));
  socket.write(Buffer.from([passwordVersion, ...parts.flatMap((part) => [part.length, ...part])]));
  const [, status] = await readBytes(socket, 2);
  if (status !== 0) throw new SocksError("does not accept the login of proxy-url");
}

async function requestConnection(socket: Socket, { host, port }: ServerAddress): Promise<void> {
  socket.write(
    Buffer.from([version, connect, 0, ...addressOf(host), Math.trunc(port / 256), port % 256]),
  );
  const [spoken, reply = 1, , kind] = await readBytes(socket, 4);
  if (spoken !== version) throw new SocksError("does not speak SOCKS 5");
  if (reply !== 0) throw new SocksError(refusals[reply] ?? `answered ${reply}`);
  // Reads the address that the proxy uses. It does not matter, but precedes the bytes of the server.
  const length = kind === addressTypes.ipv4 ? 4 : kind === addressTypes.ipv6 ? 16 : undefined;
  await readBytes(socket, (length ?? (await readBytes(socket, 1))[0] ?? 0) + 2);
}

function addressOf(host: string): readonly number[] {
  const family = isIP(host);
  if (family === 4) return [addressTypes.ipv4, ...host.split(".").map(Number)];
  if (family === 6) return [addressTypes.ipv6, ...ipv6BytesOf(host)];
  const name = Buffer.from(host, "utf8");
  if (name.length > 255) throw new SocksError("cannot be given a name that long");
  return [addressTypes.name, name.length, ...name];
}

function ipv6BytesOf(address: string): readonly number[] {
  // The URL parser writes an address without an IPv4 part.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = plain
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0");
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return groups.flatMap((group) => [group >> 8, group & 255]);
}

/** Reads the next bytes of a socket. Nobody else may read it meanwhile. */
async function readBytes(socket: Socket, count: number): Promise<Buffer> {
  for (;;) {
    const chunk: unknown = socket.read(count);
    if (Buffer.isBuffer(chunk) && chunk.length === count) return chunk;
    if (Buffer.isBuffer(chunk) || socket.readableEnded || socket.destroyed) {
      throw new SocksError("closed the connection");
    }
    // oxlint-disable-next-line no-await-in-loop -- the bytes arrive one part after the other
    await waitUntilReadable(socket);
  }
}

async function waitUntilReadable(socket: Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const ends = ["readable", "end", "close"] as const;
  for (const event of ends) socket.once(event, resolve);
  socket.once("error", reject);
  await promise.finally(() => {
    for (const event of ends) socket.off(event, resolve);
    socket.off("error", reject);
  });
}
