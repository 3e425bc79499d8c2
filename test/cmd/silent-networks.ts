import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

import { portOf } from "../fleet/ports.ts";

/** A place on loopback that never answers. */
export interface SilentPlace extends AsyncDisposable {
  readonly port: number;
}

interface SilentListener extends SilentPlace {
  /** Resolves when the next connection comes. */
  connected(): Promise<void>;
}

/** Takes every connection and never says a word. */
export async function silentListener(): Promise<SilentListener> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server.address()),
    connected: async () => void (await once(server, "connection")),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Listens, says its port and stands still, so that it takes no connection. Ends by itself. */
const standingStill = `
const server = require("net").createServer();
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
  require("fs").writeSync(1, String(server.address().port));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120000);
  process.exit();
});`;

/** Its kernel drops what comes: the queue of a listener that takes no connection is full. */
export async function droppingAddress(): Promise<SilentPlace> {
  const child = spawn(process.execPath, ["-e", standingStill], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [said] = await once(child.stdout, "data");
  const port = Number(String(said));
  const waiting = Array.from({ length: 16 }, () =>
    connect(port, "127.0.0.1").on("error", () => undefined),
  );
  // The queue has at least one place; who comes next is not answered.
  const { promise: full, resolve } = Promise.withResolvers<void>();
  for (const socket of waiting) socket.once("connect", () => resolve());
  await full;
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of waiting) socket.destroy();
      child.kill("SIGKILL");
      await once(child, "close");
    },
  };
}
