import { once } from "node:events";
import { connect, type LookupFunction, type Socket } from "node:net";
import { rootCertificates, type SecureContextOptions } from "node:tls";

import { ConnectionError, connectionErrorOf } from "../kube/api-error.ts";
import type { Clock } from "../time/clock.ts";
import { withTimeout } from "../time/deadline.ts";
import type { AddressGuard } from "./address-guard.ts";
import { bareCertificates, type Endpoint } from "./endpoint.ts";
import { describeProxy, type EndpointProxy } from "./proxy-url.ts";
import { openSocksTunnel, type ServerAddress, SocksError } from "./socks.ts";

export interface OpenOptions {
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
  readonly guard?: { readonly lookup: LookupFunction };
}

/** Opens a TCP connection. Rejects with Node's error. */
export async function openSocket(
  address: ServerAddress,
  { clock, connectTimeoutMs, signal, guard }: OpenOptions,
): Promise<Socket> {
  const lookup = guard === undefined ? {} : { lookup: guard.lookup };
  const socket = connect({ ...address, ...lookup, noDelay: true });
  const limit = withTimeout(clock, connectTimeoutMs, signal);
  try {
    await once(socket, "connect", { signal: limit });
    return socket.setKeepAlive(true, 30_000);
  } catch (error) {
    socket.destroy();
    if (signal.aborted || !limit.aborted) throw error;
    throw Object.assign(new Error("Connect timeout"), { code: "UND_ERR_CONNECT_TIMEOUT" });
  }
}

interface TunnelLimits {
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
  readonly guard?: AddressGuard;
  readonly endpoint?: Pick<Endpoint, "caPem">;
}

/**
 * Opens a connection to a server through a proxy, by CONNECT or SOCKS 5. An https proxy is verified with the trust anchors of the system and of the
 * endpoint (T07). Rejects with `ConnectionError`, whose message says whether the proxy or the server failed.
 */
export async function openTunnel(
  proxy: EndpointProxy,
  target: ServerAddress,
  limits: TunnelLimits,
): Promise<Socket> {
  const host = target.host.replace(/^\[|\]$/g, "");
  const authority = `${host.includes(":") ? `[${host}]` : host}:${target.port}`;
  const guard = limits.guard?.proxy ?? limits.guard;
  try {
    guard?.check(proxy.host);
    const options = { ...limits, ...(guard === undefined ? {} : { lookup: guard.lookup }) };
    if (proxy.protocol !== "socks5:") return await openHttpTunnel(proxy, authority, options);
    return await openSocksTunnel(proxy, { host, port: target.port }, options);
  } catch (error) {
    const subject = subjectOf(proxy, authority);
    if (!(error instanceof SocksError)) throw connectionErrorOf(error, subject);
    throw new ConnectionError("other", `${subject} ${error.message}`, { cause: error });
  }
}

function subjectOf(proxy: EndpointProxy, authority: string): string {
  return `The proxy ${describeProxy(proxy)} of ${authority}`;
}

async function openHttpTunnel(
  proxy: EndpointProxy,
  authority: string,
  limits: Omit<TunnelLimits, "guard"> & { readonly lookup?: LookupFunction },
): Promise<Socket> {
  // Loaded only for a proxy, because it loads all of fetch.
  const { request: open } =
    proxy.protocol === "https:" ? await import("node:https") : await import("node:http");
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const request = open({
    host: proxy.host,
    port: proxy.port,
    method: "CONNECT",
    path: authority,
    agent: false,
    ...trustOf(limits.endpoint?.caPem),
    ...(limits.lookup === undefined ? {} : { lookup: limits.lookup }),
    timeout: limits.connectTimeoutMs,
    signal: limits.signal,
    headers: { host: authority, ...loginOf(proxy) },
  });
  const refuse = (status: number | undefined): void => {
    request.destroy();
    const message = `${subjectOf(proxy, authority)} answered ${status ?? "nothing"} to CONNECT`;
    reject(new ConnectionError("other", message));
  };
  request.once("connect", (response, socket) => {
    // The timeout was for the handshake with the proxy only.
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
    : // As for the server: each certificate of the bundle is a trust anchor.
      { ca: [...rootCertificates, bareCertificates(caPem)], allowPartialTrustChain: true };
}

function loginOf({ login }: EndpointProxy): Readonly<Record<string, string>> {
  if (login === undefined) return {};
  const pair = Buffer.from(`${login.user.reveal()}:${login.password.reveal()}`, "utf8");
  return { "proxy-authorization": `Basic ${pair.toString("base64")}` };
}
