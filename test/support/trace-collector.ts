import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { portOf } from "../fleet/ports.ts";

/** A collector that takes OTLP/HTTP and remembers what it was sent. */
export interface TraceCollector extends AsyncDisposable {
  readonly url: string;
  readonly taken: readonly TakenTraces[];
}

export interface TakenTraces {
  readonly path: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

/** Starts it on a loopback port. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const taken: TakenTraces[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      taken.push({ path: request.url, type: request.headers["content-type"], body });
      return response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    taken,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
