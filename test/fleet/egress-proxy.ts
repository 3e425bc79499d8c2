import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";

/**
 * Plays the network between an API server and the pods of its cluster: an HTTP CONNECT proxy on a Unix socket, as
 * `--egress-selector-config-file` names it. Only addresses that were routed are reached; others get 502.
 */
export interface EgressProxy extends AsyncDisposable {
  readonly socketPath: string;
  /** `host:port` of every CONNECT so far, in order. */
  readonly asked: readonly string[];
  /** Sends connections for `address` (a ClusterIP or `ClusterIP:port`) to a loopback port. */
  route(address: string, localPort: number): void;
  unroute(address: string): void;
}

/** Starts the proxy. The path of a Unix socket must be shorter than 104 bytes. */
export async function startEgressProxy(socketPath: string): Promise<EgressProxy> {
  const routes = new Map<string, number>();
  const asked: string[] = [];
  const open = new Set<Duplex>();
  const server = createServer((_request, response) => {
    response.writeHead(405).end();
  });
  server.on("connect", (request: IncomingMessage, client: Duplex, head: Buffer) => {
    const address = request.url ?? "";
    asked.push(address);
    open.add(client);
    client.on("close", () => open.delete(client));
    client.on("error", () => undefined);
    const port = routes.get(address) ?? routes.get(address.replace(/:\d+$/, ""));
    if (port === undefined) {
      client.end("HTTP/1.1 502 No pod behind this address\r\n\r\n");
      return;
    }
    tunnel(client, head, port);
  });
  await rm(socketPath, { force: true });
  server.listen(socketPath);
  await once(server, "listening");
  server.unref();
  return {
    socketPath,
    asked,
    route: (address, localPort) => void routes.set(address, localPort),
    unroute: (address) => void routes.delete(address),
    async [Symbol.asyncDispose]() {
      for (const client of open) client.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function tunnel(client: Duplex, head: Buffer, port: number): void {
  // As Go's proxies do: a small write that waits for the answer to the one before it costs 40 ms.
  const pod = connect({ port, host: "127.0.0.1", noDelay: true }, () => {
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    pod.write(head);
    pod.pipe(client);
    client.pipe(pod);
  });
  pod.on("error", () => client.destroy());
  pod.on("close", () => client.destroy());
  client.on("close", () => pod.destroy());
}
