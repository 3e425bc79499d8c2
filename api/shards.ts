/** A part of the fleet that one replica of the controller serves at a time: a shard, by its number, or `fleet`, the work that needs all clusters at once. */
export type Part = number | "fleet";

/** The hub as a target. The key of a ClusterProfile has a slash. */
const hubKey = "hub";

/**
 * The shard of a cluster, from 0 to `shards - 1`. `target`: `namespace/name` of its ClusterProfile; the empty string is the hub. FNV-1a, 32 bits, of
 * the key, modulo the number of shards. Must never change: two replicas that disagree would both write to a cluster.
 */
export function shardOf(target: string, shards: number): number {
  return fnv1a(target === "" ? hubKey : target) % shards;
}

/** The Lease of the leader, where there is one shard. */
export const leaderLease = "knfleet-controller";

/** Leases with this label belong to replicas that share the fleet. The value is the purpose of the Lease. */
export const leaseLabel = "knfleet.dev/lease";

export type LeaseRole = "shard" | "fleet" | "member";

/** Name of the Lease of a part. The number of shards is in it, because a shard of another number has other clusters. */
export function partLease(part: Part, shards: number): string {
  return part === "fleet" ? "knfleet-fleet" : `knfleet-shard-${part}-of-${shards}`;
}

/** The part that a Lease is for, and the number of shards; undefined for another Lease. */
export function leasedPart(
  name: string,
): { readonly part: Part; readonly shards: number | undefined } | undefined {
  if (name === partLease("fleet", 1)) return { part: "fleet", shards: undefined };
  const match = /^knfleet-shard-(\d+)-of-(\d+)$/.exec(name);
  return match === null ? undefined : { part: Number(match[1]), shards: Number(match[2]) };
}

/** Beginning of the names of the Leases by which replicas with this number of shards know each other. */
export function memberPrefix(shards: number): string {
  return `knfleet-member-of-${shards}-`;
}

/** The longest duration of a Lease, in ms. */
export const longestDurationMs = 60_000;

/** How much of the duration that a Lease says is believed, in ms. Whoever may write Leases could stop all replicas for a day, or a migration, with one that says more. */
export function believedDurationMs(saidMs: number): number {
  return Math.min(saidMs, longestDurationMs);
}

/** Leases with this label are claims of clusters. The value is the `profileDigest` of the ClusterProfile that has the cluster. */
export const claimLabel = "knfleet.dev/cluster-claim";

export const claimPrefix = "knfleet-cluster-";

/** Name of the claim of a cluster, by the uid of its kube-system namespace. */
export function claimName(clusterUid: string): string {
  return `${claimPrefix}${clusterUid}`;
}

/** The key of a ClusterProfile as a label value. Two ClusterProfiles may share it. */
export function profileDigest(key: string): string {
  return fnv1a(key).toString(16);
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
