import { BlockList, isIP } from "node:net";
import { domainToASCII } from "node:url";

import { type EndpointProxy, proxyOf, ProxyUrlError } from "./proxy-url.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that kubectl would use for a server when its kubeconfig names none: `HTTPS_PROXY` (or `HTTP_PROXY` for an http server) unless `NO_PROXY`
 * leaves the server out, each also in lower case. The rules are those of Go, which never sends loopback through a proxy and knows no `ALL_PROXY`.
 *
 * Throws `ProxyUrlError`, whose message begins with the name of the variable.
 */
export function environmentProxy(
  { protocol, hostname, port }: URL,
  environment: Environment,
): EndpointProxy | undefined {
  const isPlain = protocol === "http:";
  const [from, text] = firstSet(environment, isPlain ? "HTTP_PROXY" : "HTTPS_PROXY");
  const host = hostname.replace(/^\[|\]$/g, "");
  if (text === "" || isLoopback(host)) return undefined;
  const usual = isPlain ? "80" : "443";
  const target = { host, port: port === "" ? usual : port };
  const [, exceptions] = firstSet(environment, "NO_PROXY");
  if (exceptions.split(",").some((one) => matches(one.trim().toLowerCase(), target))) {
    return undefined;
  }
  try {
    return Object.freeze({ ...proxyOf(text.includes("://") ? text : `http://${text}`), from });
  } catch (error) {
    if (!(error instanceof ProxyUrlError)) throw error;
    throw new ProxyUrlError(`${from} ${error.message}`);
  }
}

function firstSet(environment: Environment, name: string): readonly [name: string, text: string] {
  const names = [name, name.toLowerCase()];
  const found = names.find((one) => (environment[one] ?? "") !== "");
  return [found ?? name, found === undefined ? "" : (environment[found] ?? "").trim()];
}

const loopback = blockListOf("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

function isLoopback(host: string): boolean {
  return host === "localhost" || contains(loopback, host);
}

interface Server {
  readonly host: string;
  readonly port: string;
}

/** Whether an entry of `NO_PROXY` is about a server: `*`, an address range, or a host or address with or without a port. */
function matches(entry: string, { host, port }: Server): boolean {
  if (entry === "*") return true;
  const [, network = "", bits = ""] = /^([\da-f.:]+)\/(\d{1,3})$/.exec(entry) ?? [];
  if (network !== "") return isRange(network, bits) && contains(blockListOf(network, +bits), host);
  const { name, port: only } = partsOf(entry);
  const isPort = only === "" || only === port;
  return name !== "" && isPort && isNamed(name, host);
}

/** Whether a host is an address, or is a domain or below it. A leading dot, or "*.", leaves the domain itself out. */
function isNamed(name: string, host: string): boolean {
  if (isIP(name) !== 0) return contains(blockListOf(name), host);
  const bare = domainToASCII(name.replace(/^\*?\./, ""));
  return host.endsWith(`.${bare}`) || (host === bare && !/^\*?\./.test(name));
}

function partsOf(entry: string): { readonly name: string; readonly port: string } {
  if (isIP(entry) === 6) return { name: entry, port: "" };
  const [, name = entry, port = ""] = /^(.*):([^:\]]*)$/.exec(entry) ?? [];
  return { name: name.replace(/^\[|\]$/g, ""), port };
}

function isRange(network: string, bits: string): boolean {
  const family = isIP(network);
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128);
}

function blockListOf(address: string, bits?: number): BlockList {
  const list = new BlockList();
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (bits === undefined) list.addAddress(address, family);
  else list.addSubnet(address, bits, family);
  return list;
}

function contains(list: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && list.check(host, family === 6 ? "ipv6" : "ipv4");
}
