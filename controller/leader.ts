import { ApiError } from "../access/api-error.ts";
import type { KubeClient } from "../access/kube-client.ts";
import type { KubeObject, Manifest } from "../api/kubernetes.ts";
import { knownResource } from "../api/resources.ts";
import { delay, limited, type Clock } from "./clock.ts";
import type { Log } from "./log.ts";

export interface LeaderOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "replace">;
  readonly namespace: string;
  readonly name: string;
  /** Tells this process from all others, also from earlier ones on the same machine. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Told whenever the Lease cannot be read or written while waiting for it, and when it can again. */
  readonly onTrouble?: (isInTrouble: boolean) => void;
}

/** The right to write, for as long as it is renewed. */
export interface Leadership extends AsyncDisposable {
  /** Aborted when the Lease could not be renewed in time: nothing more may be written by this process. */
  readonly lost: AbortSignal;
  /** Whether the Lease is held for certain right now, by the monotonic clock; also true to say after a long pause. */
  mayWrite(): boolean;
}

const leases = knownResource("coordination.k8s.io/v1", "Lease");
const leaseDurationMs = 15_000;
const renewDeadlineMs = 10_000;
const retryPeriodMs = 2_000;

/**
 * Waits until this process holds the Lease, then keeps it until disposed, which releases it. Lease 15 s, renewed every 2 s, given up
 * after 10 s without a renewal: earlier than anybody else may take it. Rejects only when the signal is aborted.
 */
export async function lead(options: LeaderOptions, signal: AbortSignal): Promise<Leadership> {
  const { clock, log, identity } = options;
  const lease = new LeaseHolder(options);
  let waitingFor: string | undefined;
  for (;;) {
    const startedAt = clock.now();
    const holder = await lease.tryToHold(signal);
    if (holder === identity) {
      log.info({ lease: options.name, identity }, "Became the leader");
      return keep(lease, options, startedAt);
    }
    if (holder !== waitingFor) log.info({ holder: holder ?? "" }, "Waiting to become the leader");
    waitingFor = holder;
    await delay(clock, retryPeriodMs, signal);
  }
}

/** Leadership of the only replica: it is never lost. For `--disable-ha`. */
export function soleLeadership(): Leadership {
  return {
    lost: new AbortController().signal,
    mayWrite: () => true,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function keep(lease: LeaseHolder, { clock, log }: LeaderOptions, heldSince: number): Leadership {
  const stop = new AbortController();
  const lost = new AbortController();
  // Counted from the start of the last request that succeeded: the server counts from later.
  let renewedAt = heldSince;
  const mayWrite = (): boolean => !lost.signal.aborted && clock.now() < renewedAt + renewDeadlineMs;

  const renew = async (): Promise<void> => {
    for (;;) {
      await delay(clock, retryPeriodMs, stop.signal);
      if (!mayWrite()) break;
      const startedAt = clock.now();
      using limit = limited(clock, renewedAt + renewDeadlineMs - startedAt, stop.signal);
      const held = await lease.renew(limit.signal);
      if (held === "renewed") renewedAt = startedAt;
      if (held === "taken") break;
    }
    lost.abort(new Error("The Lease could not be renewed in time"));
    log.error({}, "Lost the leadership");
  };
  const renewing = renew().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });

  return {
    lost: lost.signal,
    mayWrite,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await renewing;
      if (lost.signal.aborted) return;
      using limit = limited(clock, retryPeriodMs, new AbortController().signal);
      await lease.release(limit.signal);
    },
  };
}

/** One Lease object and what is known of its holder. */
class LeaseHolder {
  readonly #options: LeaderOptions;
  /** The Lease as last seen, and when it was first seen like that: other machines' clocks are not trusted. */
  #seen: { readonly lease: KubeObject; readonly at: number } | undefined;

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /** Takes the Lease if it is free; the holder's identity afterwards, undefined when the hub could not be asked. */
  async tryToHold(signal: AbortSignal): Promise<string | undefined> {
    const { client, namespace, name, clock, log, onTrouble } = this.#options;
    using limit = limited(clock, renewDeadlineMs, signal);
    try {
      const lease = await client.get({ resource: leases, namespace, name }, {}, limit.signal);
      const holder = await this.#tryToTake(lease, limit.signal);
      onTrouble?.(false);
      return holder;
    } catch (error) {
      signal.throwIfAborted();
      // Another replica was faster; its name is read in the next round.
      if (isConflict(error)) return undefined;
      onTrouble?.(true);
      log.warn({ err: error, namespace }, "Could not read or write the Lease");
      return undefined;
    }
  }

  async #tryToTake(lease: KubeObject | undefined, signal: AbortSignal): Promise<string> {
    const { identity } = this.#options;
    if (lease === undefined) {
      await this.#create(signal);
      return identity;
    }
    this.#saw(lease);
    if (!this.#isFree(lease)) return specOf(lease).holder;
    await this.#write(this.#record(lease), signal);
    return identity;
  }

  /** `failed`: not known, try again; `taken`: somebody else holds it. */
  async renew(signal: AbortSignal): Promise<"renewed" | "taken" | "failed"> {
    const { client, namespace, name, identity, log } = this.#options;
    try {
      if (this.#seen === undefined) {
        const lease = await client.get({ resource: leases, namespace, name }, {}, signal);
        if (lease === undefined) {
          await this.#create(signal);
          return "renewed";
        }
        if (specOf(lease).holder !== identity) return "taken";
        this.#saw(lease);
      }
      await this.#write(this.#record(this.#seen?.lease), signal);
      return "renewed";
    } catch (error) {
      this.#seen = undefined;
      if (!signal.aborted) log.warn({ err: error }, "Could not renew the Lease");
      return "failed";
    }
  }

  /** Best effort: a Lease that cannot be released runs out. */
  async release(signal: AbortSignal): Promise<void> {
    const lease = this.#seen?.lease;
    if (lease === undefined) return;
    const { log } = this.#options;
    const spec = { ...this.#record(lease).spec, holderIdentity: "", leaseDurationSeconds: 1 };
    try {
      await this.#write({ ...lease, spec }, signal);
      log.info({}, "Released the Lease");
    } catch (error) {
      log.warn({ err: error }, "Could not release the Lease");
    }
  }

  #isFree(lease: KubeObject): boolean {
    const { holder, durationMs } = specOf(lease);
    if (holder === "" || holder === this.#options.identity) return true;
    return this.#options.clock.now() > (this.#seen?.at ?? Infinity) + durationMs;
  }

  #saw(lease: KubeObject): void {
    const same = this.#seen?.lease.metadata.resourceVersion === lease.metadata.resourceVersion;
    if (!same) this.#seen = { lease, at: this.#options.clock.now() };
  }

  async #create(signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const ref = { resource: leases, namespace };
    this.#saw(await client.create(ref, this.#record(undefined), {}, signal));
  }

  async #write(lease: Manifest, signal: AbortSignal): Promise<void> {
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
