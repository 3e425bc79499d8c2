import * as http from "node:http";
import * as https from "node:https";
import type { Socket } from "node:net";
import { rootCertificates, type SecureContextOptions } from "node:tls";

import type { AddressGuard } from "./address-guard.ts";
import type { Endpoint, EndpointProxy } from "./endpoint.ts";

/** Where a tunnel has to lead. */
export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

/**
 * Opens a connection to a server through an HTTP proxy (CONNECT). An https proxy is verified with the trust anchors of the
 * system and those of the endpoint (T07). Rejects with `code` `ECONNREFUSED` and the like, or `KNFLEET_PROXY` when the
 * proxy says no.
 */
export async function openTunnel(
  proxy: EndpointProxy,
  target: TunnelTarget,
  limits: {
    readonly connectTimeoutMs: number;
    readonly signal: AbortSignal;
    readonly guard?: AddressGuard;
    readonly endpoint?: Pick<Endpoint, "caPem">;
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
    ...trustOf(limits.endpoint?.caPem),
    ...(limits.guard === undefined ? {} : { lookup: limits.guard.lookup }),
    timeout: limits.connectTimeoutMs,
    signal: limits.signal,
    headers: { host: authority, ...loginOf(proxy) },
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

function trustOf(
  caPem: string | undefined,
): Pick<SecureContextOptions, "ca" | "allowPartialTrustChain"> {
  return caPem === undefined
    ? {}
    : // As for the server itself: a certificate of the bundle is a trust anchor.
      { ca: [...rootCertificates, caPem], allowPartialTrustChain: true };
}

function loginOf({ authorization }: EndpointProxy): Readonly<Record<string, string>> {
  return authorization === undefined ? {} : { "proxy-authorization": authorization.reveal() };
}
