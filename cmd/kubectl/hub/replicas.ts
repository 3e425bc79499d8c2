import { ifServed } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { ClusterProfileRef } from "../../../api/component.ts";
import { recordAt, textAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import {
  believedDurationMs,
  claimLabel,
  leaderLease,
  leasedPart,
  memberPrefix,
  type Part,
  partLease,
  shardOf,
} from "../../../api/shards.ts";
import { numberAt } from "../selection/fields.ts";

/** A Lease by which a replica of the controller works. Times are in ms since 1970. */
export interface ControllerLease {
  readonly namespace: string;
  readonly name: string;
  /** Empty: the Lease was released. */
  readonly holder: string;
  readonly endsAtMs: number;
  readonly renewedAtMs: number;
}

/** Lists the Leases of controllers in all namespaces, with one request. Throws the errors of KubeClient. */
export async function listControllerLeases(
  hub: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<readonly ControllerLease[]> {
  return controllerLeasesIn(await listLeases(hub, signal));
}

/** Lists all Leases except those of clusters and nodes, with one request. Throws the errors of KubeClient. */
export async function listLeases(
  hub: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const listing = hub.list(
    {
      resource: knownResource("coordination.k8s.io/v1", "Lease"),
      // The Lease of a leader has no label to select it by. Claims of clusters and Leases of nodes may be thousands.
      labelSelector: `!${claimLabel}`,
      fieldSelector: "metadata.namespace!=kube-node-lease",
    },
    {},
    signal,
  );
  // A bundle may be without the kind.
  return (await ifServed(listing))?.items ?? [];
}

/** The Leases of controllers among others. */
export function controllerLeasesIn(leases: readonly KubeObject[]): readonly ControllerLease[] {
  return leases.filter(({ metadata: { name } }) => isOfController(name)).map(leaseOf);
}

function isOfController(name: string): boolean {
  const isMember = /^knfleet-member-of-\d+-/.test(name);
  return isMember || name === leaderLease || leasedPart(name) !== undefined;
}

function leaseOf({ metadata, ...object }: KubeObject): ControllerLease {
  const spec = recordAt(object, "spec");
  const renewed = Date.parse(textAt(spec, "renewTime") ?? "");
  const renewedAtMs = Number.isNaN(renewed) ? 0 : renewed;
  const durationMs = believedDurationMs((numberAt(spec, "leaseDurationSeconds") ?? 15) * 1_000);
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    holder: textAt(spec, "holderIdentity") ?? "",
    renewedAtMs,
    endsAtMs: renewedAtMs + durationMs,
  };
}

/** What the replicas of a controller serve. */
export interface Serving {
  readonly namespace: string;
  /** 1: a leader serves the whole fleet. */
  readonly shards: number;
  /** All parts of the fleet. With one shard that is shard 0 alone. */
  readonly parts: readonly Part[];
  /** The Leases of the parts, as far as they exist. */
  readonly leases: ReadonlyMap<Part, ControllerLease>;
  /** Names of the replicas that hold the Lease of a part now. */
  readonly holders: ReadonlyMap<Part, string>;
  /** Names of replicas that hold no part, but are ready to take one. A replica that waits for the only Lease is not known. */
  readonly spare: readonly string[];
}

// A foreign Lease may have any number in its name.
const maxShards = 1_000;

/**
 * Who serves what, by the Leases of a hub at a time of its clock. Of several controllers it is the one that is at work, else the one that was the last to work; so it
 * is while the number of shards changes. Undefined without a Lease for work.
 */
export function servingOf(leases: readonly ControllerLease[], timeMs: number): Serving | undefined {
  const isHeld = (lease: ControllerLease): boolean => isHeldAt(lease, timeMs);
  const newest = leases
    .filter(({ name }) => shardsIn(name) !== undefined)
    .toSorted((a, b) => Number(isHeld(b)) - Number(isHeld(a)) || b.renewedAtMs - a.renewedAtMs)[0];
  const shards = shardsIn(newest?.name ?? "");
  if (newest === undefined || shards === undefined) return undefined;
  const { namespace } = newest;
  const own = leases.filter((lease) => lease.namespace === namespace);
  const byName = new Map(own.map((lease) => [lease.name, lease]));
  const numbers = [...Array(shards).keys()];
  const parts: readonly Part[] = shards === 1 ? numbers : [...numbers, "fleet"];
  const found = parts.flatMap((part) => {
    const lease = byName.get(workLease(part, shards));
    return lease === undefined ? [] : [[part, lease] as const];
  });
  const held = found.filter(([, lease]) => isHeld(lease));
  const holders = new Map(held.map(([part, { holder }]) => [part, replicaName(holder)]));
  const members = own.filter((one) => one.name.startsWith(memberPrefix(shards)) && isHeld(one));
  const names = new Set(members.map(({ holder }) => replicaName(holder)));
  const spare = [...names.difference(new Set(holders.values()))].toSorted();
  return { namespace, shards, parts, leases: new Map(found), holders, spare };
}

/** The name of the Lease of a part: that of the leader where there is one shard. */
export function workLease(part: Part, shards: number): string {
  return shards === 1 ? leaderLease : partLease(part, shards);
}

/** The number of shards of a replica that works by a Lease of this name. Undefined: the name does not say it. */
function shardsIn(name: string): number | undefined {
  if (name === leaderLease) return 1;
  const { part, shards = 0 } = leasedPart(name) ?? {};
  const isShard = typeof part === "number" && part < shards && shards > 1 && shards <= maxShards;
  return isShard ? shards : undefined;
}

// Clocks differ and a busy hub answers late: a Lease that ended this recently may have been renewed.
const graceMs = 5_000;

/** Whether a replica holds a Lease. One that was not renewed in time has run out. */
export function isHeldAt({ holder, endsAtMs }: ControllerLease, timeMs: number): boolean {
  return holder !== "" && endsAtMs + graceMs > timeMs;
}

/** The pod in the identity of a replica, which ends with a UUID. */
export function replicaName(identity: string): string {
  return identity.replace(/_[\da-f-]{36}$/, "");
}

/** The shard of a cluster, and who serves it. */
export interface ServedBy {
  /** Name of the replica; null: no replica serves the shard. */
  readonly name: string | null;
  readonly shard: number;
  /** Number of shards; 1: there is a leader. */
  readonly shards: number;
}

/** Who serves a cluster. For the hub as a target the cluster is null. */
export function servedBy(
  cluster: ClusterProfileRef | null,
  { shards, holders }: Pick<Serving, "shards" | "holders">,
): ServedBy {
  const key = cluster === null ? "" : `${cluster.namespace}/${cluster.name}`;
  const shard = shardOf(key, shards);
  return { name: holders.get(shard) ?? null, shard, shards };
}

/** Parts in words: `shards 0, 2 of 3, fleet`, or `leader` where there is one shard. */
export function partsText(parts: readonly Part[], shards: number): string {
  if (shards === 1) return "leader";
  const numbers = parts.filter((part) => part !== "fleet");
  const word = numbers.length > 1 ? "shards" : "shard";
  const some = numbers.length > 0 ? [`${word} ${numbers.join(", ")} of ${shards}`] : [];
  const all = [...some, ...(parts.includes("fleet") ? ["fleet"] : [])];
  return all.length > 0 ? all.join(", ") : `no shard of ${shards}`;
}
