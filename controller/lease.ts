import { ApiError } from "../access/api-error.ts";
import type { KubeClient } from "../access/kube-client.ts";
import type { KubeObject, Manifest } from "../api/kubernetes.ts";
import { knownResource } from "../api/resources.ts";
import { type Clock, limited } from "./clock.ts";
import type { Log } from "./log.ts";

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
}

/** The kind of the object by which one of several replicas works. */
export const leases = knownResource("coordination.k8s.io/v1", "Lease");

/** How long after its last renewal others leave a Lease alone. */
const leaseDurationMs = 15_000;

/** How long a request for a Lease that is wanted may take. */
const askMs = 10_000;
const releaseMs = 2_000;

/** One Lease object and what is known of its holder. */
export class LeaseHolder {
  readonly #options: LeaseOptions;
  /** The Lease as last seen, and when it was first seen like that: other machines' clocks are not trusted. */
  #seen: { readonly lease: KubeObject; readonly at: number } | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Takes the Lease if it is free; the holder's identity afterwards, undefined when the hub could not be asked. */
  async tryToHold(signal: AbortSignal): Promise<string | undefined> {
    const { client, namespace, name, clock, log, onTrouble } = this.#options;
    using limit = limited(clock, askMs, signal);
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
    const { client, namespace, name, identity } = this.#options;
    const known = this.#seen?.lease;
    const lease = known ?? (await client.get({ resource: leases, namespace, name }, {}, signal));
    if (lease === undefined || specOf(lease).holder !== identity) return true;
    const spec = { ...this.#record(lease).spec, holderIdentity: "", leaseDurationSeconds: 1 };
    try {
      await this.#write({ ...lease, spec }, signal);
      return true;
    } catch (error) {
      this.#seen = undefined;
      if (isConflict(error)) return false;
      throw error;
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

/** Whether nobody holds a Lease: it was let go. */
export function isLetGo(lease: KubeObject): boolean {
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
