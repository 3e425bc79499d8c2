import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, type Socket } from "node:net";

import type { KeyPair } from "../fleet/certificates.ts";
import { portOf } from "../fleet/ports.ts";

/** An HTTP proxy that knows CONNECT, with TLS when it has an identity; remembers what was asked of it. */
export interface ProxyStub extends AsyncDisposable {
  readonly port: number;
  readonly asked: readonly {
    readonly target: string;
    readonly authorization: string | undefined;
  }[];
}

/** `hosts` are the names that only the proxy resolves: all of them to this machine. */
export async function startProxyStub(
  status = 200,
  identity?: KeyPair,
  hosts: readonly string[] = [],
): Promise<ProxyStub> {
  const asked: { target: string; authorization: string | undefined }[] = [];
  const links = new Set<Socket>();
  const server =
    identity === undefined
      ? createServer()
      : createTlsServer({ key: identity.keyPem, cert: identity.certificatePem });
  server.on("connect", (request: IncomingMessage, client: Socket) => {
    asked.push({
      target: request.url ?? "",
      authorization: request.headers["proxy-authorization"],
    });
    if (status !== 200) {
      client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const [host = "", port] = (request.url ?? "").split(":");
    const target = connect(Number(port), hosts.includes(host) ? "127.0.0.1" : host, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(target).pipe(client);
    });
    for (const socket of [client, target]) {
      links.add(socket);
      socket.on("error", () => undefined);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server.address()),
    asked,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of links) socket.destroy();
      await once(server, "close");
    },
  };
}
