import { once } from "node:events";
import { createServer, type Socket } from "node:net";

import { onTestFinished } from "vitest";

import { portOf } from "../fleet/ports.ts";

/** An HTTPS address at which a TCP server listens that is no TLS server, until the test ends. */
export async function plainServer(onSocket: (socket: Socket) => unknown): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${portOf(server.address())}`;
}
