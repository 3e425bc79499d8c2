import { BlockList, isIPv6 } from "node:net";

/**
 * Whether an address means this machine, its link, or nobody in particular: what a name that somebody else controls must never
 * lead to. Private networks are not among them. Spec: security.md T-11.
 */
export function isForbiddenAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, "");
  const family = isIPv6(bare) ? "ipv6" : "ipv4";
  // Lists of their own, because a BlockList takes an IPv4 address for the IPv6 address that it is mapped to.
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
