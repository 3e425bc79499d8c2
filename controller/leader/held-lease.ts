import type { CollectionRef } from "../../access/kube/kube-client.ts";
import { delay } from "../../access/time/clock.ts";
import { Follower } from "../../access/time/deadline.ts";
import { LeaseEcho, type WorkConnection } from "./lease-echo.ts";
import { type LeaseHolder, type LeaseOptions, leases } from "./lease.ts";

export interface HeldLeaseOptions extends LeaseOptions {
  /** The connections of the work. One that does not show the renewals is exchanged. Absent: none. */
  readonly workConnections?: readonly WorkConnection[];
}

/** Of the retry period. */
const shortestPausePart = 0.25;

/**
 * A Lease that this process holds. It is renewed every retry period until the disposal, which releases it. After the renew deadline without a renewal it is lost,
 * which is before anybody else may take it.
 */
export class HeldLease implements AsyncDisposable {
  readonly #lease: LeaseHolder;
  readonly #options: HeldLeaseOptions;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  readonly #end = new Follower(this.#lost.signal, this.#stopped.signal).signal;
  /** Counts from the start of the last successful request. The server counts from a later time. */
  #validUntil: number;
  #timer: Disposable;
  readonly #echoes: readonly LeaseEcho[];
  readonly #renewing: Promise<void>;

  /** `heldSince`: when the request was sent that acquired the Lease. */
  constructor(lease: LeaseHolder, options: HeldLeaseOptions, heldSince: number) {
    this.#lease = lease;
    this.#options = options;
    this.#validUntil = heldSince + options.times.renewDeadlineMs;
    this.#timer = this.#startTimer();
    const { workConnections = [], clock, log } = options;
    const ref = selectLease(options);
    this.#echoes = workConnections.map(
      (connection) => new LeaseEcho({ connection, clock, ref, log }, this.#end),
    );
    this.#renewing = this.#renewUntilTheEnd(heldSince);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Compares with the clock, because after a pause of the whole process no timer has fired yet. */
  get isValid(): boolean {
    return !this.#end.aborted && this.#options.clock.now() < this.#validUntil;
  }

  /** Invalid from the call on. Resolves when the Lease is released, unless it was lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    this.#stopped.abort(new DOMException("The leader stops", "AbortError"));
    await this.#renewing;
    if (!this.#lost.signal.aborted) await this.#lease.release();
  }

  async #renewUntilTheEnd(heldSince: number): Promise<void> {
    const { clock, times } = this.#options;
    const { retryPeriodMs } = times;
    const shortestMs = retryPeriodMs * shortestPausePart;
    try {
      for (let startedAt = heldSince; ;) {
        // After a slow or failed renewal the next one follows soon.
        const pauseMs = Math.max(shortestMs, retryPeriodMs - (clock.now() - startedAt));
        await delay(clock, pauseMs, this.#end);
        startedAt = clock.now();
        if (!(await this.#renew())) return this.#lose();
      }
    } catch (error) {
      if (!this.#end.aborted) throw error;
    }
  }

  /** False when the leadership is lost. After another failure the Lease is valid until its time ends. */
  async #renew(): Promise<boolean> {
    if (!this.isValid) return false;
    const startedAt = this.#options.clock.now();
    const outcome = await this.#lease.renew(this.#end);
    if (outcome !== "renewed") return outcome === "failed";
    this.#validUntil = startedAt + this.#options.times.renewDeadlineMs;
    this.#timer[Symbol.dispose]();
    this.#timer = this.#startTimer();
    for (const echo of this.#echoes) echo.noteRenewal();
    return true;
  }

  #startTimer(): Disposable {
    const { clock } = this.#options;
    return clock.after(Math.max(0, this.#validUntil - clock.now()), () => this.#lose());
  }

  #lose(): void {
    if (this.#end.aborted) return;
    this.#timer[Symbol.dispose]();
    this.#lost.abort(new Error("The Lease could not be renewed in time"));
    const { log, name } = this.#options;
    log.error({ lease: name }, "Lost the leadership");
  }
}

/** Selects the Lease and nothing else. */
export function selectLease({
  namespace,
  name,
}: Pick<LeaseOptions, "namespace" | "name">): CollectionRef {
  return { resource: leases, namespace, fieldSelector: `metadata.name=${name}` };
}
