import { createHash } from "node:crypto";

import type { KubeClient } from "../../access/kube/kube-client.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { logFailure, logWatchBug } from "../../access/log.ts";
import { delay } from "../../access/time/clock.ts";
import { Deadline, Follower } from "../../access/time/deadline.ts";
import {
  leaseLabel,
  type LeaseRole,
  memberPrefix,
  type Part,
  partLease,
} from "../../api/shards.ts";
import { HeldLease, type HeldLeaseOptions } from "./held-lease.ts";
import type { Leadership, PartWork } from "./leader.ts";
import { LeaseList, selectShared } from "./lease-list.ts";
import { isReleased, LeaseHolder, leases, type LeaseOptions, pauseMsOf } from "./lease.ts";

export interface SharingOptions extends Omit<HeldLeaseOptions, "name" | "labels"> {
  /** Its requests must not wait behind others, and must be sent also while this process may not write. */
  readonly client: LeaseOptions["client"] & Pick<KubeClient, "list" | "watch" | "remove">;
  /** More than one. */
  readonly shards: number;
  /** One replica also does the work that needs all clusters. */
  readonly fleet: boolean;
}

/** Lease durations after which a replica is forgotten that stopped without removing its Lease. */
const forgetDurations = 8;
const removeMs = 2_000;

/**
 * Joins the replicas that share the fleet. Resolves when they can see this one. Each takes its fair share of the shards, one Lease each, and hands over what it has
 * too much: it ends the work first and then releases the Lease. Shards whose replica died are taken when their Leases have run out. A Lease that is lost ends
 * everything, as the only Lease of a single leader does. Rejects only when the signal is aborted.
 */
export async function joinReplicas(
  options: SharingOptions,
  signal: AbortSignal,
): Promise<Leadership> {
  const replica = new Replica(options);
  const { clock, times } = options;
  while (!(await replica.join(signal))) await delay(clock, pauseMsOf(times, clock), signal);
  return replica;
}

class Replica implements Leadership {
  readonly mayFollowAnother = true;
  readonly #options: SharingOptions;
  readonly #list: LeaseList;
  readonly #memberName: string;
  readonly #memberLease: LeaseHolder;
  readonly #partLeases: ReadonlyMap<Part, LeaseHolder>;
  readonly #lost = new AbortController();
  #member: HeldLease | undefined;
  /** The Leases that this process has acquired. */
  readonly #acquired = new Map<Part, HeldLease>();
  /** The parts that it may write for: no replica with another number of shards works. */
  readonly #served = new Set<Part>();
  #wake = new AbortController();
  #isEnded = false;

  constructor(options: SharingOptions) {
    const { shards, fleet, identity } = options;
    this.#options = options;
    this.#list = new LeaseList(options);
    // Identities contain characters that names may not.
    const digest = createHash("sha256").update(identity).digest("hex").slice(0, 12);
    this.#memberName = `${memberPrefix(shards)}${digest}`;
    // No other process has this Lease, so that it is free also where a leader may exist.
    const { mayHaveLeader: _, ...always } = options;
    this.#memberLease = new LeaseHolder({ ...always, ...this.#leaseOptions("member") });
    const parts: readonly Part[] = [...Array(shards).keys(), ...(fleet ? ["fleet" as const] : [])];
    const { onTrouble: _trouble, ...quiet } = options;
    this.#partLeases = new Map(
      parts.map((part) => [part, new LeaseHolder({ ...quiet, ...this.#leaseOptions(part) })]),
    );
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  mayWrite(part?: Part): boolean {
    if (this.#isEnded || this.#lost.signal.aborted) return false;
    if (part !== undefined && !this.#served.has(part)) return false;
    return [...this.#served].every((one) => this.#acquired.get(one)?.isValid === true);
  }

  /** Makes this replica visible to the others. False when the hub does not answer. */
  async join(signal: AbortSignal): Promise<boolean> {
    if (this.#member !== undefined && !this.#member.lost.aborted) return true;
    const { heldSince } = await this.#memberLease.tryToAcquire(signal);
    if (heldSince === undefined) return false;
    const options = { ...this.#options, ...this.#leaseOptions("member") };
    const member = new HeldLease(this.#memberLease, options, heldSince);
    if (signal.aborted) await member[Symbol.asyncDispose]();
    signal.throwIfAborted();
    this.#member = member;
    return true;
  }

  share = async (work: PartWork, stop: AbortSignal): Promise<never> => {
    using end = new Follower(stop, this.#lost.signal);
    const { signal } = end;
    const { client, namespace, clock, log, times } = this.#options;
    const noteChange = (name: string, isNews: boolean): void => {
      if (isNews || this.#list.get(name) === undefined) this.#wake.abort();
    };
    using _watch = new Reflector(
      { client, clock, ref: selectShared(namespace) },
      {
        onChange: (lease) => noteChange(lease.metadata.name, isReleased(lease)),
        onDelete: (lease) => noteChange(lease.metadata.name, true),
        // The Leases are listed anyway.
        onError: (err) => log.debug({ err }, "Cannot watch the Leases"),
        onBug: logWatchBug(log, "Lease"),
      },
      signal,
    );
    for (;;) {
      await this.#balance(work, signal);
      using early = new Follower(signal, this.#wake.signal);
      await delay(clock, pauseMsOf(times, clock), early.signal).catch(() =>
        signal.throwIfAborted(),
      );
      this.#wake = new AbortController();
    }
  };

  /** The work of all parts must have ended before. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    await this.#member?.[Symbol.asyncDispose]();
    // First, so that the others know their share when the parts are released.
    await this.#remove(this.#memberName).catch((err: unknown) =>
      logFailure(this.#options.log, "debug", { err }, "Could not remove the Lease of this replica"),
    );
    await Promise.all([...this.#acquired.keys()].map((part) => this.#release(part)));
  }

  /** One round: hands over what is too much, and takes what is missing. */
  async #balance(work: PartWork, signal: AbortSignal): Promise<void> {
    await this.join(signal);
    if (!(await this.#read(signal))) return;
    const { rank, replicas } = this.#standing();
    const { shards } = this.#options;
    const share = Math.floor(shards / replicas) + (rank < shards % replicas ? 1 : 0);
    const mine = [...this.#served].filter((part) => part !== "fleet");
    for (const part of mine.slice(share)) await this.#handOver(part, work);
    if (this.#list.areOthersAtWork()) return;
    const free = [...this.#partLeases].flatMap(([part, lease]) =>
      !this.#acquired.has(part) && lease.looksFree ? [part] : [],
    );
    // Replicas begin at different shards, so that they do not race for the same one.
    const turn = (part: number): number => (part - rank + replicas) % replicas;
    const open = free.filter((part) => part !== "fleet").toSorted((a, b) => turn(a) - turn(b));
    const missing = open.slice(0, Math.max(0, share - mine.length));
    await this.#take(free.includes("fleet") ? [...missing, "fleet"] : missing, work, signal);
    await this.#forgetDead();
  }

  async #handOver(part: Part, work: PartWork): Promise<void> {
    await work.end(part);
    this.#served.delete(part);
    await this.#release(part);
    this.#options.log.info({ lease: partLease(part, this.#options.shards) }, "Handed over");
  }

  async #take(parts: readonly Part[], work: PartWork, signal: AbortSignal): Promise<void> {
    await Promise.all(parts.map((part) => this.#acquire(part, signal)));
    const taken = parts.filter((part) => this.#acquired.has(part));
    if (taken.length === 0) return;
    // A replica with another number of shards may have acquired a Lease at the same moment. At least one of the two sees the other now.
    if (!(await this.#read(signal)) || this.#list.areOthersAtWork()) {
      await Promise.all(taken.map((part) => this.#release(part)));
      return;
    }
    for (const part of taken) this.#served.add(part);
    const { shards, identity, log } = this.#options;
    const names = taken.map((part) => partLease(part, shards));
    log.info({ leases: names, identity }, "Took a share of the fleet");
    await work.begin(taken, signal);
  }

  async #acquire(part: Part, signal: AbortSignal): Promise<void> {
    const lease = this.#partLeases.get(part);
    const { heldSince } = (await lease?.tryToAcquire(signal)) ?? {};
    if (lease === undefined || heldSince === undefined) return;
    // The echo of the member's Lease is enough.
    const { workConnections: _, ...options } = this.#options;
    const held = new HeldLease(lease, { ...options, ...this.#leaseOptions(part) }, heldSince);
    // After a stop nobody else would release it, and it would be renewed for ever.
    if (signal.aborted) return await held[Symbol.asyncDispose]();
    this.#acquired.set(part, held);
    held.lost.addEventListener("abort", () => this.#lost.abort(held.lost.reason), { once: true });
  }

  async #release(part: Part): Promise<void> {
    const held = this.#acquired.get(part);
    await held?.[Symbol.asyncDispose]();
    this.#acquired.delete(part);
  }

  /** Whether the Leases were read. */
  async #read(signal: AbortSignal): Promise<boolean> {
    const { shards, log, onTrouble } = this.#options;
    try {
      await this.#list.read(signal);
    } catch (err) {
      signal.throwIfAborted();
      logFailure(log, "warn", { err }, "Could not read the Leases");
      onTrouble?.(true);
      return false;
    }
    onTrouble?.(false);
    for (const [part, lease] of this.#partLeases) {
      if (!this.#acquired.has(part)) lease.observe(this.#list.get(partLease(part, shards)));
    }
    return true;
  }

  /** The place of this replica among those that live with this number of shards, in the order of the names of their Leases. */
  #standing(): { readonly rank: number; readonly replicas: number } {
    const prefix = memberPrefix(this.#options.shards);
    const live = new Set(this.#list.held().filter((name) => name.startsWith(prefix)));
    live.add(this.#memberName);
    const rank = [...live].toSorted().indexOf(this.#memberName);
    return { rank, replicas: live.size };
  }

  async #forgetDead(): Promise<void> {
    const { shards, times } = this.#options;
    const forgetMs = forgetDurations * times.durationMs;
    const dead = this.#list.unchangedFor(forgetMs, memberPrefix(shards));
    for (const { metadata } of dead) {
      // Conflict: it lives again, or another replica was faster.
      await this.#remove(metadata.name, metadata.resourceVersion).catch((err: unknown) =>
        logFailure(this.#options.log, "debug", { err }, "Could not remove the Lease of a replica"),
      );
    }
  }

  async #remove(name: string, resourceVersion?: string): Promise<void> {
    const { client, namespace, clock } = this.#options;
    using limit = new Deadline(clock, removeMs, new AbortController().signal);
    const precondition = resourceVersion === undefined ? {} : { resourceVersion };
    await client.remove({ resource: leases, namespace, name }, precondition, limit.signal);
  }

  #leaseOptions(of: Part | "member"): Pick<HeldLeaseOptions, "name" | "labels"> {
    const role: LeaseRole = typeof of === "number" ? "shard" : of;
    const name = of === "member" ? this.#memberName : partLease(of, this.#options.shards);
    return { name, labels: { [leaseLabel]: role } };
  }
}
