import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { logFailure } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import { Deadline } from "../../access/time/deadline.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { believedDurationMs } from "../../api/shards.ts";
import type { Log } from "../log.ts";

/** When a Lease is renewed, lost, and free for others; as in client-go. */
export interface LeaseTimes {
  /** How long other replicas leave a Lease alone after its last change. */
  readonly durationMs: number;
  /** How long a holder works without a renewal. Less than the duration. */
  readonly renewDeadlineMs: number;
  /** Pause between two renewals, and between two tries to acquire the Lease. */
  readonly retryPeriodMs: number;
}

/** The defaults of client-go. */
export const defaultLeaseTimes: LeaseTimes = {
  durationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

/** Milliseconds until the next try to acquire a Lease: at most the retry period, and different for each replica, so that not all ask the hub at once. */
export function pauseMsOf({ retryPeriodMs }: LeaseTimes, clock: Clock): number {
  return retryPeriodMs * (1 - clock.random() / 4);
}

export interface LeaseOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "replace">;
  readonly namespace: string;
  readonly name: string;
  /** Labels of a Lease that this process creates. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Unique for this process, also among earlier processes of the same machine. */
  readonly identity: string;
  readonly times: LeaseTimes;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each try to acquire the Lease: whether reading or writing it failed. */
  readonly onTrouble?: (isInTrouble: boolean) => void;
  /** Whether a leader may exist, so that somebody may have deleted its Lease. Absent: none exists. */
  readonly mayHaveLeader?: () => boolean;
  /** Called when a request got no answer in time, to send the next one over another connection. Absent: there is no other. */
  readonly reconnect?: () => void;
}

export const leases = knownResource("coordination.k8s.io/v1", "Lease");

/** A holder that stops writes this duration with an empty holder, as client-go does. People who empty a holder leave the duration. */
export const releasedSeconds = 1;

/** Limit of one renewal, as a part of the renew deadline. It leaves time for a second one. */
const renewPart = 0.4;
const releaseMs = 2_000;

/** Enough to replace a Lease that was deleted, to create one that somebody else created, and to read its holder. */
const maxRenewTries = 3;

/** The result of a try to acquire the Lease. */
export interface Acquisition {
  /** Identity of the holder now. Undefined when the hub did not answer, or when another replica was faster. */
  readonly holder: string | undefined;
  /** When our write was sent, by our clock. Everybody else counts from a later time. Absent: the Lease is not ours. */
  readonly heldSince?: number;
}

/** One Lease object, and the last known state of it. */
export class LeaseHolder {
  readonly #options: LeaseOptions;
  /** The Lease as last seen, or its absence, and when this state was first seen. The clocks of other machines are not trusted. */
  #seen: { readonly lease: KubeObject | undefined; readonly at: number } | undefined;
  /** A Lease existed, so that a holder may exist that has not noticed yet that somebody deleted it. */
  #hadLease = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Notes a state of the Lease that a list showed. Undefined: there is no Lease. A state that is older than the known one only delays the acquisition. */
  observe(lease: KubeObject | undefined): void {
    this.#note(lease);
  }

  /** Whether an attempt to acquire the Lease may succeed, by what was observed. */
  get looksFree(): boolean {
    return this.#isFree(this.#seen?.lease);
  }

  /** Acquires the Lease if it is free. Rejects only when the signal is aborted and the Lease was not acquired. */
  async tryToAcquire(signal: AbortSignal): Promise<Acquisition> {
    const { namespace, log, onTrouble } = this.#options;
    try {
      const acquisition = await this.#acquire(signal);
      onTrouble?.(false);
      return acquisition;
    } catch (err) {
      signal.throwIfAborted();
      // Another replica was faster. The next try reads its name.
      if (isConflict(err)) return { holder: undefined };
      onTrouble?.(true);
      logFailure(log, "warn", { err, namespace }, "Could not read or write the Lease");
      return { holder: undefined };
    }
  }

  async #acquire(signal: AbortSignal): Promise<Acquisition> {
    const { clock, identity, times } = this.#options;
    const startedAt = clock.now();
    const limitMs = times.renewDeadlineMs;
    const lease = await this.#runInTime(limitMs, (limit) => this.#read(limit), signal);
    this.#note(lease);
    if (!this.#isFree(lease)) return { holder: specOf(lease).holder };
    // The read before does not count for the duration.
    const heldSince = clock.now();
    // Goes on when the process stops: a write that was sent may arrive, and nobody would release what it acquired.
    const { signal: always } = new AbortController();
    const leftMs = startedAt + limitMs - heldSince;
    await this.#runInTime(leftMs, (limit) => this.#write(lease, limit), always);
    return { holder: identity, heldSince };
  }

  /** Renews the Lease. `taken`: somebody else holds it. `failed`: unknown, try again. */
  async renew(signal: AbortSignal): Promise<"renewed" | "taken" | "failed"> {
    const limitMs = this.#options.times.renewDeadlineMs * renewPart;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#runInTime(limitMs, (limit) => this.#tryToRenew(limit), signal);
      } catch (err) {
        this.#seen = undefined;
        // Somebody changed or deleted the Lease, perhaps a new leader: find out now, not at the next renewal.
        if (isOutdated(err) && tries < maxRenewTries) continue;
        if (!signal.aborted)
          logFailure(this.#options.log, "warn", { err }, "Could not renew the Lease");
        return "failed";
      }
    }
  }

  async #runInTime<T>(
    ms: number,
    run: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    using limit = new Deadline(this.#options.clock, ms, signal);
    try {
      return await run(limit.signal);
    } catch (error) {
      // The server, or a proxy in front of it, may hang while the connection lives. Another one may work.
      if (limit.signal.aborted && !signal.aborted) this.#options.reconnect?.();
      throw error;
    }
  }

  async #tryToRenew(signal: AbortSignal): Promise<"renewed" | "taken"> {
    const { identity } = this.#options;
    const lease = this.#seen?.lease ?? (await this.#read(signal));
    // A Lease that is absent or was emptied is still ours: other replicas wait until we would have lost it.
    const isOurs = specOf(lease).holder === identity || (isEmpty(lease) && !isReleased(lease));
    if (!isOurs) return "taken";
    await this.#write(lease, signal);
    return "renewed";
  }

  /** Releases the Lease. Never rejects, because a Lease that is not released expires. */
  async release(): Promise<void> {
    const { log, clock } = this.#options;
    using limit = new Deadline(clock, releaseMs, new AbortController().signal);
    try {
      // A renewal that was aborted may have arrived and changed the version: then the second try reads it.
      if (!(await this.#tryToRelease(limit.signal))) await this.#tryToRelease(limit.signal);
      log.info({}, "Released the Lease");
    } catch (err) {
      logFailure(log, "warn", { err }, "Could not release the Lease");
    }
  }

  async #tryToRelease(signal: AbortSignal): Promise<boolean> {
    const lease = this.#seen?.lease ?? (await this.#read(signal));
    if (lease === undefined || specOf(lease).holder !== this.#options.identity) return true;
    const released = { holderIdentity: "", leaseDurationSeconds: releasedSeconds };
    try {
      await this.#replace({ ...lease, spec: { ...this.#record(lease).spec, ...released } }, signal);
      return true;
    } catch (error) {
      this.#seen = undefined;
      if (isConflict(error)) return false;
      throw error;
    }
  }

  /**
   * Whether anybody may take the Lease. A released Lease is free at once. A Lease that is absent or was emptied is free a Lease duration after it was
   * first seen so, when its holder has certainly noticed. An absent Lease is free at once when no leader can exist.
   */
  #isFree(lease: KubeObject | undefined): boolean {
    const { clock, identity, mayHaveLeader, times } = this.#options;
    const { holder } = specOf(lease);
    if (isReleased(lease) || holder === identity) return true;
    if (lease === undefined && !this.#hadLease && mayHaveLeader?.() !== true) return true;
    return clock.now() > (this.#seen?.at ?? Infinity) + heldForMs(lease, times);
  }

  #note(lease: KubeObject | undefined): void {
    this.#hadLease ||= lease !== undefined;
    const version = lease?.metadata.resourceVersion;
    const same = this.#seen !== undefined && this.#seen.lease?.metadata.resourceVersion === version;
    if (!same) this.#seen = { lease, at: this.#options.clock.now() };
  }

  #read(signal: AbortSignal): Promise<KubeObject | undefined> {
    const { client, namespace, name } = this.#options;
    return client.get({ resource: leases, namespace, name }, {}, signal);
  }

  /** Replaces the previous Lease, or creates one. */
  async #write(previous: KubeObject | undefined, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const record = this.#record(previous);
    if (previous !== undefined) return this.#replace(record, signal);
    this.#note(await client.create({ resource: leases, namespace }, record, {}, signal));
  }

  async #replace(lease: Manifest, signal: AbortSignal): Promise<void> {
    const { client, namespace, name } = this.#options;
    this.#note(await client.replace({ resource: leases, namespace, name }, lease, {}, signal));
  }

  #record(previous: KubeObject | undefined): Manifest & { readonly spec: object } {
    const { namespace, name, labels, identity, times, clock } = this.#options;
    const time = clock.date().toISOString().replace("Z", "000Z");
    const before = specOf(previous);
    const isOurs = before.holder === identity;
    return {
      ...(previous ?? { apiVersion: leases.apiVersion, kind: leases.kind }),
      metadata: previous?.metadata ?? {
        namespace,
        name,
        ...(labels === undefined ? {} : { labels }),
      },
      spec: {
        holderIdentity: identity,
        // Whole seconds, and never less than the holder counts on.
        leaseDurationSeconds: Math.ceil(times.durationMs / 1_000),
        acquireTime: isOurs ? before.acquireTime : time,
        renewTime: time,
        leaseTransitions: before.transitions + (isOurs || previous === undefined ? 0 : 1),
      },
    };
  }
}

interface LeaseSpec {
  readonly holder: string;
  readonly durationMs: number | undefined;
  readonly acquireTime: string | undefined;
  readonly transitions: number;
}

/** Whether the holder has released a Lease, so that another replica may take it at once. */
export function isReleased(lease: KubeObject | undefined): boolean {
  const { durationMs = Infinity } = specOf(lease);
  return isEmpty(lease) && durationMs <= releasedSeconds * 1_000;
}

/** How long a Lease is left alone after its last change. Its holder may have been started with a longer duration than this process. */
export function heldForMs(lease: KubeObject | undefined, times: LeaseTimes): number {
  return Math.max(believedDurationMs(specOf(lease).durationMs ?? 0), times.durationMs);
}

function isEmpty(lease: KubeObject | undefined): boolean {
  return specOf(lease).holder === "";
}

function specOf(lease: KubeObject | undefined): LeaseSpec {
  const spec = lease?.["spec"];
  const fields: Readonly<Record<string, unknown>> =
    typeof spec === "object" && spec !== null ? { ...spec } : {};
  const { holderIdentity, leaseDurationSeconds, acquireTime, leaseTransitions } = fields;
  return {
    holder: typeof holderIdentity === "string" ? holderIdentity : "",
    durationMs: typeof leaseDurationSeconds === "number" ? leaseDurationSeconds * 1_000 : undefined,
    acquireTime: typeof acquireTime === "string" ? acquireTime : undefined,
    transitions: typeof leaseTransitions === "number" ? leaseTransitions : 0,
  };
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}

/** A conflict, or 404 because the Lease to replace does not exist. */
function isOutdated(error: unknown): boolean {
  return isConflict(error) || (error instanceof ApiError && error.status === 404);
}
