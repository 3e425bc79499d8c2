import { once } from "node:events";
import {
  connect,
  createServer,
  type ListenOptions,
  type NetConnectOpts,
  type Socket,
} from "node:net";

import { portOf } from "./ports.ts";

/** Passes connections to a loopback port, or to a Unix socket, on to somewhere else. */
export interface Relay extends AsyncDisposable {
  /** 0 for a Unix socket. */
  readonly port: number;
  /** How many connections came so far. */
  readonly connections: number;
  /** From now on no byte passes, and no connection is ended. */
  hold(): void;
}

/** Starts a relay, by default on a free port; `target` is asked for each connection, those that run stay where they are. */
export async function startRelay(
  target: () => NetConnectOpts,
  listen: ListenOptions = { port: 0, host: "127.0.0.1" },
): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isHeld = false;
  let connections = 0;
  const server = createServer({ noDelay: true }, (from) => {
    connections += 1;
    const to = connect(target());
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => {
        sockets.delete(socket);
        if (!isHeld) other.destroy();
      });
      if (!isHeld) socket.pipe(other);
    }
  });
  server.listen(listen);
  await once(server, "listening");
  return {
    port: listen.path === undefined ? portOf(server.address()) : 0,
    get connections() {
      return connections;
    },
    hold() {
      isHeld = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
