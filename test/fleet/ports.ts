import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A loopback port that was free a moment ago, chosen by the kernel. Another process may take it before its user binds
 * it, so whoever starts a server on it has to try again with another one.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server.address());
  server.close();
  await once(server, "close");
  return port;
}

/** Port of `server.address()`; throws when the server does not listen on TCP. */
export function portOf(address: string | { readonly port: number } | null): number {
  if (address === null || typeof address === "string") {
    throw new Error("The server does not listen on a TCP port");
  }
  return address.port;
}
