import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { portOf } from "../fleet/ports.ts";
import type { WebhookProcess } from "../support/webhook-process.ts";

/** Plays the Service in front of replicas: new connections go to those that are ready, in turn; those that exist stay where they are. */
export interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** Becomes a backend once it is ready. */
  add(replica: WebhookProcess): Promise<void>;
}

const probeMs = 100;

/** Starts it on a loopback port. Readiness is asked for every 100 ms. */
export async function startBalancer(): Promise<Balancer> {
  const ready = new Map<number, number>();
  const open = new Set<Socket>();
  const stop = new AbortController();
  let turn = 0;
  const server = createServer((client) => {
    const ports = [...ready.values()];
    const port = ports[(turn += 1) % ports.length];
    client.on("error", () => undefined);
    if (port === undefined) return void client.destroy();
    const backend = connect(port, "127.0.0.1");
    for (const socket of [client, backend]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on("close", () => open.delete(socket));
    }
    backend.on("error", () => client.destroy());
    client.pipe(backend);
    backend.pipe(client);
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server.address()),
    async add(replica) {
      const [url, port] = await Promise.all([replica.healthUrl(), replica.port()]);
      await replica.ready();
      const end = new AbortController();
      void replica.exited.then(() => end.abort());
      const probe = async () => {
        while (!stop.signal.aborted && !end.signal.aborted) {
          const isReady = await fetch(`${url}/readyz`).then(
            ({ ok }) => ok,
            () => false,
          );
          if (isReady) ready.set(replica.pid, port);
          else ready.delete(replica.pid);
          await delay(probeMs);
        }
        ready.delete(replica.pid);
      };
      ready.set(replica.pid, port);
      void probe();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
