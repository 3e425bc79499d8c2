import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { Log } from "../log.ts";
import { type Clock, limited } from "../queue/clock.ts";

export interface LeaseOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "replace">;
  readonly namespace: string;
  readonly name: string;
  /** Tells this process from all others, also from earlier ones on the same machine. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Told whenever the Lease cannot be read or written while waiting for it, and when it can again. */
  readonly onTrouble?: (isInTrouble: boolean) => void;
  /** Whether somebody has worked here: a Lease that is absent then may have been taken away from a leader. Absent: nobody has. */
  readonly mayHaveLeader?: () => boolean;
  /** Called when a request got no answer in time: the next one goes over another connection. Absent: there is no other. */
  readonly reconnect?: () => void;
}

/** The kind of the object by which one of several replicas works. */
export const leases = knownResource("coordination.k8s.io/v1", "Lease");

/** How long after its last renewal, and after whatever else happened to it, others leave a Lease alone. */
const leaseDurationMs = 15_000;

/** Written beside an empty holder by a holder that stops, here as in client-go; people who empty one leave the duration as it was. */
const releasedSeconds = 1;

/** How long a request for a Lease that is wanted may take. */
const askMs = 10_000;

/** How long a renewal may take: when it got no answer there is time for another one. */
const renewMs = 4_000;
const releaseMs = 2_000;

/** To replace what is not there any more, to create what somebody else just has, and to see whose it is. */
const triesOfRenewal = 3;

/** What came of an attempt to take the Lease. */
export interface Holding {
  /** Its holder's identity afterwards; undefined when the hub could not be asked, or another one was faster. */
  readonly holder: string | undefined;
  /** When the write that took it was sent, by our clock: the hub, and everybody who looks there, counts from later. Absent: it is not ours. */
  readonly heldSince?: number;
}

/** One Lease object and what is known of its holder. */
export class LeaseHolder {
  readonly #options: LeaseOptions;
  /** The Lease as last seen, or its absence, and when it was first seen like that: other machines' clocks are not trusted. */
  #seen: { readonly lease: KubeObject | undefined; readonly at: number } | undefined;
  /** There was a Lease, so there was a holder, who need not know yet what was done to it. */
  #hadLease = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Takes the Lease if it is free. Rejects only when the signal is aborted. */
  async tryToHold(signal: AbortSignal): Promise<Holding> {
    const { namespace, log, onTrouble } = this.#options;
    try {
      const holding = await this.#inTime(askMs, (inTime) => this.#tryToTake(inTime), signal);
      onTrouble?.(false);
      return holding;
    } catch (error) {
      signal.throwIfAborted();
      // Another replica was faster; its name is read in the next round.
      if (isConflict(error)) return { holder: undefined };
      onTrouble?.(true);
      log.warn({ err: error, namespace }, "Could not read or write the Lease");
      return { holder: undefined };
    }
  }

  async #tryToTake(signal: AbortSignal): Promise<Holding> {
    const { clock, identity } = this.#options;
    const lease = await this.#read(signal);
    this.#saw(lease);
    if (!this.#isFree(lease)) return { holder: specOf(lease).holder };
    // The question before took time of nobody's Lease.
    const heldSince = clock.now();
    await this.#write(lease, signal);
    return { holder: identity, heldSince };
  }

  /** `failed`: not known, try again; `taken`: somebody else holds it, or did. */
  async renew(signal: AbortSignal): Promise<"renewed" | "taken" | "failed"> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#inTime(renewMs, (inTime) => this.#tryToRenew(inTime), signal);
      } catch (error) {
        this.#seen = undefined;
        // Somebody has changed or deleted it, perhaps another one who leads now: that is not put off to the next renewal.
        if (isOutdated(error) && tries < triesOfRenewal) continue;
        if (!signal.aborted) this.#options.log.warn({ err: error }, "Could not renew the Lease");
        return "failed";
      }
    }
  }

  async #inTime<T>(
    ms: number,
    ask: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    using limit = limited(this.#options.clock, ms, signal);
    try {
      return await ask(limit.signal);
    } catch (error) {
      // A server can hang while its connection lives, and so can what is before it; there may be others.
      if (limit.signal.aborted && !signal.aborted) this.#options.reconnect?.();
      throw error;
    }
  }

  async #tryToRenew(signal: AbortSignal): Promise<"renewed" | "taken"> {
    const { identity } = this.#options;
    const lease = this.#seen?.lease ?? (await this.#read(signal));
    // One that is absent or was emptied is nobody else's yet: they wait until we would have given up.
    const isOurs = specOf(lease).holder === identity || (isEmpty(lease) && !isLetGo(lease));
    if (!isOurs) return "taken";
    await this.#write(lease, signal);
    return "renewed";
  }

  /** Best effort: a Lease that cannot be released runs out. */
  async release(): Promise<void> {
    const { log, clock } = this.#options;
    using limit = limited(clock, releaseMs, new AbortController().signal);
    try {
      // A renewal that was broken off may have arrived: then the version is another one.
      if (!(await this.#tryToRelease(limit.signal))) await this.#tryToRelease(limit.signal);
      log.info({}, "Released the Lease");
    } catch (error) {
      log.warn({ err: error }, "Could not release the Lease");
    }
  }

  async #tryToRelease(signal: AbortSignal): Promise<boolean> {
    const lease = this.#seen?.lease ?? (await this.#read(signal));
    if (lease === undefined || specOf(lease).holder !== this.#options.identity) return true;
    const mark = { holderIdentity: "", leaseDurationSeconds: releasedSeconds };
    try {
      await this.#replace({ ...lease, spec: { ...this.#record(lease).spec, ...mark } }, signal);
      return true;
    } catch (error) {
      this.#seen = undefined;
      if (isConflict(error)) return false;
      throw error;
    }
  }

  /**
   * One that was let go, at once. One that is absent or was emptied while it was held only when its holder has certainly noticed: a Lease
   * duration after it was first seen so. Without any sign of a leader there is none to wait for.
   */
  #isFree(lease: KubeObject | undefined): boolean {
    const { clock, identity, mayHaveLeader } = this.#options;
    const { holder, durationMs } = specOf(lease);
    if (isLetGo(lease) || holder === identity) return true;
    if (lease === undefined && !this.#hadLease && mayHaveLeader?.() !== true) return true;
    return clock.now() > (this.#seen?.at ?? Infinity) + Math.max(durationMs, leaseDurationMs);
  }

  #saw(lease: KubeObject | undefined): void {
    this.#hadLease ||= lease !== undefined;
    const version = lease?.metadata.resourceVersion;
    const same = this.#seen !== undefined && this.#seen.lease?.metadata.resourceVersion === version;
    if (!same) this.#seen = { lease, at: this.#options.clock.now() };
  }

  #read(signal: AbortSignal): Promise<KubeObject | undefined> {
    const { client, namespace, name } = this.#options;
    return client.get({ resource: leases, namespace, name }, {}, signal);
  }

  /** In place of the one that is there, or of none. */
  async #write(previous: KubeObject | undefined, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const record = this.#record(previous);
    if (previous !== undefined) return this.#replace(record, signal);
    this.#saw(await client.create({ resource: leases, namespace }, record, {}, signal));
  }

  async #replace(lease: Manifest, signal: AbortSignal): Promise<void> {
    const { client, namespace, name } = this.#options;
    this.#saw(await client.replace({ resource: leases, namespace, name }, lease, {}, signal));
  }

  #record(previous: KubeObject | undefined): Manifest & { readonly spec: object } {
    const { namespace, name, identity, clock } = this.#options;
    const time = clock.date().toISOString().replace("Z", "000Z");
    const before = specOf(previous);
    const mine = before.holder === identity;
    return {
      ...(previous ?? { apiVersion: leases.apiVersion, kind: leases.kind }),
      metadata: previous?.metadata ?? { namespace, name },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: leaseDurationMs / 1_000,
        acquireTime: mine ? before.acquireTime : time,
        renewTime: time,
        leaseTransitions: before.transitions + (mine || previous === undefined ? 0 : 1),
      },
    };
  }
}

interface LeaseSpec {
  readonly holder: string;
  readonly durationMs: number;
  readonly acquireTime: string | undefined;
  readonly transitions: number;
}

/** Whether the holder of a Lease has let it go, and somebody else may work at once. */
export function isLetGo(lease: KubeObject | undefined): boolean {
  return (
    lease !== undefined && isEmpty(lease) && specOf(lease).durationMs <= releasedSeconds * 1_000
  );
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
    durationMs:
      typeof leaseDurationSeconds === "number" ? leaseDurationSeconds * 1_000 : leaseDurationMs,
    acquireTime: typeof acquireTime === "string" ? acquireTime : undefined,
    transitions: typeof leaseTransitions === "number" ? leaseTransitions : 0,
  };
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}

/** Also 404: what was to be replaced is not there. */
function isOutdated(error: unknown): boolean {
  return isConflict(error) || (error instanceof ApiError && error.status === 404);
}
