import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { FleetError } from "../api/errors.ts";
import type { Metrics } from "./metrics/metrics.ts";

/** The address to listen on. Without a host: all addresses. Port 0: a free port. */
export interface ListenAddress {
  readonly host?: string;
  readonly port: number;
}

export interface HealthDeps {
  readonly metrics: Pick<Metrics, "render" | "contentType">;
  /** Names of the parts that are not ready yet; empty when the process is ready. */
  readonly waitingFor: () => readonly string[];
}

export interface HealthServer extends AsyncDisposable {
  /** The port of the server, also when port 0 was requested. */
  readonly port: number;
}

/**
 * Serves `/healthz` (200 while the process answers), `/readyz` (503 with the parts that are not ready) and `/metrics`. Throws FleetError
 * `ConfigInvalid` when it cannot listen.
 */
export async function startHealthServer(
  address: ListenAddress,
  deps: HealthDeps,
): Promise<HealthServer> {
  // Node looks each 30 s for what has lasted for too long, unless it is told otherwise.
  const limits = {
    requestTimeout: 10_000,
    headersTimeout: 10_000,
    connectionsCheckingInterval: 1_000,
  };
  const server = createServer(limits, (request, response) => {
    answer(request, deps).then(
      (reply) => send(response, reply),
      () => send(response, { status: 500, text: "error" }),
    );
  });
  server.listen(address.port, address.host);
  try {
    await once(server, "listening");
  } catch (cause) {
    const place = `${address.host ?? ""}:${address.port}`;
    throw new FleetError("ConfigInvalid", `Cannot listen on --health-address ${place}`, { cause });
  }
  return {
    port: portOf(server.address()),
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly contentType?: string;
}

async function answer({ method, url = "" }: IncomingMessage, deps: HealthDeps): Promise<Reply> {
  if (method !== "GET" && method !== "HEAD") return { status: 405, text: "method not allowed" };
  const [path] = url.split("?");
  if (path === "/healthz") return { status: 200, text: "ok" };
  if (path === "/readyz") {
    const missing = deps.waitingFor();
    return missing.length === 0
      ? { status: 200, text: "ok" }
      : { status: 503, text: missing.map((what) => `waiting for ${what}`).join("\n") };
  }
  if (path !== "/metrics") return { status: 404, text: "not found" };
  const { contentType } = deps.metrics;
  return { status: 200, text: await deps.metrics.render(), contentType };
}

function send(response: ServerResponse, { status, text, contentType }: Reply): void {
  response.writeHead(status, { "content-type": contentType ?? "text/plain; charset=utf-8" });
  response.end(text.endsWith("\n") ? text : `${text}\n`);
}

function portOf(address: string | AddressInfo | null): number {
  return typeof address === "object" && address !== null ? address.port : 0;
}
