import * as http from "node:http";
import * as https from "node:https";
import type { Socket } from "node:net";

import type { AddressGuard } from "./address-guard.ts";
import type { EndpointProxy } from "./endpoint.ts";

/** Where a tunnel has to lead. */
export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

/**
 * Opens a connection to a server through an HTTP proxy (CONNECT). An https proxy is verified with the system's trust
 * anchors. Rejects with `code` `ECONNREFUSED` and the like, or `KNFLEET_PROXY` when the proxy says no.
 */
export async function openTunnel(
  proxy: EndpointProxy,
  target: TunnelTarget,
  limits: {
    readonly connectTimeoutMs: number;
    readonly signal: AbortSignal;
    readonly guard?: AddressGuard;
  },
): Promise<Socket> {
  const authority = `${target.host.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;
  limits.guard?.check(proxy.host);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const request = (proxy.protocol === "https:" ? https : http).request({
    host: proxy.host,
    port: proxy.port,
    method: "CONNECT",
    path: authority,
    agent: false,
    ...(limits.guard === undefined ? {} : { lookup: limits.guard.lookup }),
    timeout: limits.connectTimeoutMs,
    signal: limits.signal,
    headers: {
      host: authority,
      ...(proxy.authorization === undefined
        ? {}
        : { "proxy-authorization": proxy.authorization.reveal() }),
    },
  });
  const refuse = (status: number | undefined): void => {
    request.destroy();
    reject(
      Object.assign(new Error(`The proxy answered ${status ?? "nothing"}`), {
        code: "KNFLEET_PROXY",
      }),
    );
  };
  request.once("connect", (response, socket) => {
    // Kept open by the tunnel from now on: the timeout was for the handshake with the proxy.
    socket.setTimeout(0);
    if (response.statusCode === 200) resolve(socket);
    else refuse(response.statusCode);
  });
  request.once("response", (response) => refuse(response.statusCode));
  request.once("timeout", () => {
    request.destroy(Object.assign(new Error("The proxy did not answer"), { code: "ETIMEDOUT" }));
  });
  request.once("error", reject);
  request.end();
  return promise;
}
