import { lookup as systemLookup, type LookupAddress, type LookupAllOptions } from "node:dns";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";

import { ConnectionError } from "../kube/api-error.ts";

/** Decides to which addresses connections may go. A name counts by the addresses that it resolves to. */
export interface AddressGuard {
  /** Resolves a name without the refused addresses. Fails with ConnectionError `notAllowed` when none is left. */
  readonly lookup: LookupFunction;
  /** Throws ConnectionError `notAllowed` when the host is an address that is refused. */
  check(host: string): void;
  /** The guard for connections to a proxy. Absent: the same guard. */
  readonly proxy?: AddressGuard;
}

type Resolve = (
  host: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface AddressRules {
  /** Ranges such as `127.0.0.0/8` that are allowed although they are refused by default. */
  readonly allowed?: readonly string[];
  /** The same, only for proxies. */
  readonly allowedProxies?: readonly string[];
  /** Whether connections to this machine are allowed. Not in a pod, where they lead to its other containers. */
  readonly loopback: boolean;
  /** For tests: replaces the resolver of names. */
  readonly resolve?: Resolve;
}

const refusedRanges = {
  loopback: ["127.0.0.0/8", "::1/128"],
  "link-local": ["169.254.0.0/16", "fe80::/10"],
  multicast: ["224.0.0.0/4", "ff00::/8"],
  reserved: ["0.0.0.0/8", "240.0.0.0/4", "::/128"],
} as const;

/**
 * A guard for connections to servers that a ClusterProfile names: none to loopback, link-local (metadata services),
 * multicast and reserved addresses, in any spelling. Spec: security.md T-11.
 */
export function addressGuard({ allowedProxies = [], ...rules }: AddressRules): AddressGuard {
  const guard = guardOf(rules);
  if (allowedProxies.length === 0) return guard;
  return {
    ...guard,
    proxy: guardOf({ ...rules, allowed: [...(rules.allowed ?? []), ...allowedProxies] }),
  };
}

function guardOf({ allowed, loopback, resolve }: AddressRules): AddressGuard {
  const lookup: Resolve = resolve ?? systemLookup;
  const permitted = blockListOf(allowed ?? []);
  const refused = Object.entries(refusedRanges)
    .filter(([kind]) => kind !== "loopback" || !loopback)
    .map(([kind, ranges]) => ({ kind, ranges: blockListOf(ranges) }));
  const kindOf = (address: string): string | undefined => {
    const plain = embedded(address);
    const family = isIP(plain) === 4 ? "ipv4" : "ipv6";
    if (permitted.check(plain, family)) return undefined;
    return refused.find(({ ranges }) => ranges.check(plain, family))?.kind;
  };
  return {
    check(host) {
      const address = host.replace(/^\[|\]$/g, "");
      const kind = isIP(address) === 0 ? undefined : kindOf(address);
      if (kind !== undefined) throw notAllowed(kind);
    },
    lookup(host, options, callback) {
      lookup(host, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return callback(error, "");
        const allowedAddresses = addresses.filter(({ address }) => kindOf(address) === undefined);
        const [first] = allowedAddresses;
        if (first === undefined) return callback(notAllowed(firstKind(addresses)), "");
        // Connects to exactly the checked addresses: a second lookup could return others.
        if (options.all === true) callback(null, allowedAddresses);
        else callback(null, first.address, first.family);
      });
    },
  };

  function firstKind(addresses: readonly LookupAddress[]): string {
    return addresses.map(({ address }) => kindOf(address)).find(Boolean) ?? "reserved";
  }
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", bits = ""] = range.split("/");
    const family = isIP(network);
    if (family !== 0 && bits !== "") {
      list.addSubnet(network, Number(bits), family === 4 ? "ipv4" : "ipv6");
    }
  }
  return list;
}

/** The IPv4 address inside an IPv4-mapped or NAT64 address. Other addresses stay as they are. */
function embedded(address: string): string {
  if (isIP(address) !== 6) return address;
  // The URL parser gives each address one spelling. The zone does not matter.
  const text = URL.parse(`http://[${address.split("%", 1)[0] ?? ""}]`)?.hostname.slice(1, -1) ?? "";
  const [, tail = ""] = /^(?:::ffff:|64:ff9b::)([\da-f:]+)$/.exec(text) ?? [];
  if (tail === "") return address;
  const [low = 0, high = 0] = tail
    .split(":")
    .map((part) => Number.parseInt(part, 16))
    .toReversed();
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function notAllowed(kind: string): ConnectionError {
  return new ConnectionError(
    "notAllowed",
    `The way to the server leads to a ${kind} address; only a provider whose allowedServers or allowedProxies holds its range may use it`,
  );
}

/**
 * Whether an address is loopback, link-local, multicast or reserved. A name that somebody else controls must never resolve to such an address. Private
 * networks are allowed. Spec: security.md T-11.
 */
export function isForbiddenAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, "");
  const family = isIPv6(bare) ? "ipv6" : "ipv4";
  // One list a family, because a BlockList treats an IPv4 address like its IPv4-mapped IPv6 address.
  const list = new BlockList();
  for (const [net, prefix] of family === "ipv6" ? v6Ranges : v4Ranges) {
    list.addSubnet(net, prefix, family);
  }
  return list.check(bare, family);
}

const v4Ranges: readonly (readonly [net: string, prefix: number])[] = [
  ["0.0.0.0", 8],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

// IPv4 inside IPv6 is refused as a whole: mapped, NAT64, 6to4 and Teredo.
const v6Ranges: readonly (readonly [net: string, prefix: number])[] = [
  ["::", 127],
  ["::ffff:0:0", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["2001::", 32],
  ["2002::", 16],
  ["fe80::", 10],
  ["ff00::", 8],
];
