import type { CollectionRef, KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { Deadline } from "../../access/time/deadline.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { leasedPart, leaseLabel, leaderLease } from "../../api/shards.ts";
import { heldForMs, isReleased, leases, type LeaseTimes } from "./lease.ts";

export interface LeaseListOptions {
  readonly client: Pick<KubeClient, "get" | "list">;
  readonly namespace: string;
  /** The number of shards of this replica. */
  readonly shards: number;
  /** Called when a request got no answer in time. Absent: there is no other connection. */
  readonly reconnect?: () => void;
  readonly times: LeaseTimes;
  readonly clock: Clock;
}

/** A Lease, or its absence after it was held, and when this state was first seen by our clock. */
interface Entry {
  readonly lease: KubeObject | undefined;
  readonly at: number;
}

const readMs = 4_000;

/**
 * The Leases of all replicas, with the time of their last change. A Lease counts as held until it is released, or until it did not change for a Lease duration. One
 * for work that somebody deleted counts as held for that time, too. The clocks of other machines are not trusted.
 */
export class LeaseList {
  readonly #options: LeaseListOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: LeaseListOptions) {
    this.#options = options;
  }

  /** Reads the Leases, not older than this call. Rejects when the hub does not answer in time, and with the reason of the signal. */
  async read(signal: AbortSignal): Promise<void> {
    const { clock, reconnect } = this.#options;
    using limit = new Deadline(clock, readMs, signal);
    try {
      this.#note(await this.#request(limit.signal));
    } catch (error) {
      if (limit.signal.aborted && !signal.aborted) reconnect?.();
      throw error;
    }
  }

  async #request(signal: AbortSignal): Promise<ReadonlyMap<string, KubeObject>> {
    const { client, namespace, shards } = this.#options;
    const leader = { resource: leases, namespace, name: leaderLease };
    const [listed, ledBy] = await Promise.all([
      client.list(selectShared(namespace), {}, signal),
      // The leader of one shard reads this Lease anyway. It has no label.
      shards === 1 ? undefined : client.get(leader, {}, signal),
    ]);
    const found = ledBy === undefined ? listed.items : [...listed.items, ledBy];
    return new Map(found.map((lease) => [lease.metadata.name, lease]));
  }

  get(name: string): KubeObject | undefined {
    return this.#entries.get(name)?.lease;
  }

  /** Names of the Leases that count as held. */
  held(): readonly string[] {
    return [...this.#entries.keys()].filter((name) => this.#isHeld(name));
  }

  /** Leases that exist, begin with a prefix, and did not change for a time. */
  unchangedFor(ms: number, prefix: string): readonly KubeObject[] {
    const before = this.#options.clock.now() - ms;
    return [...this.#entries].flatMap(([name, { lease, at }]) =>
      lease !== undefined && name.startsWith(prefix) && at < before ? [lease] : [],
    );
  }

  /** Whether replicas with another number of shards hold Leases. One shard has the Lease of the leader, who also does the work of the whole fleet. */
  areOthersAtWork(): boolean {
    const { shards } = this.#options;
    return this.held().some((name) => {
      if (name === leaderLease) return shards !== 1;
      const leased = leasedPart(name);
      if (leased === undefined) return false;
      return leased.part === "fleet" ? shards === 1 : leased.shards !== shards;
    });
  }

  #isHeld(name: string): boolean {
    const entry = this.#entries.get(name);
    if (entry === undefined || isReleased(entry.lease)) return false;
    const { clock, times } = this.#options;
    return clock.now() <= entry.at + heldForMs(entry.lease, times);
  }

  #note(found: ReadonlyMap<string, KubeObject>): void {
    const at = this.#options.clock.now();
    for (const [name, lease] of found) {
      const version = this.get(name)?.metadata.resourceVersion;
      if (lease.metadata.resourceVersion !== version) this.#entries.set(name, { lease, at });
    }
    for (const [name, { lease }] of this.#entries) {
      if (found.has(name)) continue;
      // The Lease of a member is removed when its replica ends.
      if (!isForWork(name) || !this.#isHeld(name)) this.#entries.delete(name);
      else if (lease !== undefined) this.#entries.set(name, { lease: undefined, at });
    }
  }
}

/** Whether the holder of a Lease may write, unlike the holder of a member's. */
function isForWork(name: string): boolean {
  return name === leaderLease || leasedPart(name) !== undefined;
}

/** The Leases of replicas that share the fleet. */
export function selectShared(namespace: string): CollectionRef {
  return { resource: leases, namespace, labelSelector: leaseLabel };
}
