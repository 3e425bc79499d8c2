import type { CollectionRef, KubeClient } from "../../access/kube/kube-client.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { type Clock, delay } from "../queue/clock.ts";
import { LeaseEcho, type WorkConnection } from "./lease-echo.ts";
import { isReleased, LeaseHolder, type LeaseOptions, leases } from "./lease.ts";

export interface LeaderOptions extends LeaseOptions {
  /** Its requests must not wait behind others, and must be sent also while this process may not write. */
  readonly client: LeaseOptions["client"] & Pick<KubeClient, "list" | "watch">;
  /** The connections of the leader's work. One that does not show the renewals is exchanged. Absent: none. */
  readonly workConnections?: readonly WorkConnection[];
}

/** The right to write, as long as the Lease is renewed. */
export interface Leadership extends AsyncDisposable {
  /** Aborted when the Lease could not be renewed in time: this process may write nothing more. */
  readonly lost: AbortSignal;
  /** Whether another process may have written until this one took over. */
  readonly mayFollowAnother: boolean;
  /** Whether the Lease is certainly held now, by the monotonic clock. Correct also after a pause of the whole process. */
  mayWrite(): boolean;
}

const renewDeadlineMs = 10_000;
const retryPeriodMs = 2_000;
const shortestPauseMs = 500;

/**
 * Waits until this process holds the Lease, and renews it until the disposal, which releases it. The Lease lasts 15 s and is renewed every 2 s. After
 * 10 s without a renewal the leadership is lost, which is before anybody else may take the Lease. A released Lease is taken at once. A Lease that
 * somebody deleted or emptied still belongs to its holder. Rejects only when the signal is aborted.
 */
export async function lead(options: LeaderOptions, signal: AbortSignal): Promise<Leadership> {
  const { log, identity } = options;
  const lease = new LeaseHolder(options);
  let waiting: Waiting | undefined;
  let waitingFor: string | undefined;
  try {
    for (;;) {
      const { holder, heldSince } = await lease.tryToAcquire(signal);
      if (heldSince !== undefined) {
        log.info({ lease: options.name, identity }, "Became the leader");
        return keep(lease, options, heldSince);
      }
      if (holder !== waitingFor) log.info({ holder: holder ?? "" }, "Waiting to become the leader");
      waitingFor = holder;
      waiting ??= new Waiting(options, signal);
      await waiting.waitForNextTry(signal);
    }
  } finally {
    waiting?.[Symbol.dispose]();
  }
}

/** Leadership of the only replica, which is never lost. For `--disable-ha`. */
export function soleLeadership(): Leadership {
  return {
    lost: new AbortController().signal,
    mayFollowAnother: false,
    mayWrite: () => true,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The pause between two tries. It ends early when the holder of the Lease releases it. */
class Waiting implements Disposable {
  readonly #clock: Clock;
  readonly #watch: Reflector;
  #wake = new AbortController();

  constructor(options: LeaderOptions, signal: AbortSignal) {
    const { client, clock, log } = options;
    this.#clock = clock;
    this.#watch = new Reflector(
      { client, ref: collectionOf(options) },
      {
        onChange: (lease) => {
          if (isReleased(lease)) this.#wake.abort();
        },
        onDelete: () => this.#wake.abort(),
        // The next try reads the Lease anyway, and reports its failure.
        onError: (err) => log.debug({ err }, "Cannot watch the Lease"),
      },
      signal,
    );
  }

  async waitForNextTry(signal: AbortSignal): Promise<void> {
    const early = AbortSignal.any([signal, this.#wake.signal]);
    await delay(this.#clock, retryPeriodMs, early).catch(() => signal.throwIfAborted());
    this.#wake = new AbortController();
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }
}

function keep(lease: LeaseHolder, options: LeaderOptions, heldSince: number): Leadership {
  const held = new HeldLease(lease, options, heldSince);
  const renewing = held.renewUntilTheEnd(heldSince);
  return {
    lost: held.lost,
    mayFollowAnother: true,
    mayWrite: () => held.isValid,
    [Symbol.asyncDispose]: async () => {
      held.stop();
      await renewing;
      if (!held.lost.aborted) await lease.release();
    },
  };
}

/** Selects the Lease and nothing else. */
function collectionOf({ namespace, name }: LeaderOptions): CollectionRef {
  return { resource: leases, namespace, fieldSelector: `metadata.name=${name}` };
}

/** A Lease that this process holds, for a time that renewals extend. */
class HeldLease {
  readonly #lease: LeaseHolder;
  readonly #options: LeaderOptions;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  readonly #end = AbortSignal.any([this.#lost.signal, this.#stopped.signal]);
  /** Counts from the start of the last successful request. The server counts from a later time. */
  #validUntil: number;
  #timer: Disposable;
  readonly #echoes: readonly LeaseEcho[];

  constructor(lease: LeaseHolder, options: LeaderOptions, heldSince: number) {
    this.#lease = lease;
    this.#options = options;
    this.#validUntil = heldSince + renewDeadlineMs;
    this.#timer = this.#startTimer();
    const { workConnections = [], log } = options;
    const ref = collectionOf(options);
    this.#echoes = workConnections.map(
      (connection) => new LeaseEcho({ connection, ref, log }, this.#end),
    );
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Compares with the clock, because after a pause of the whole process no timer has fired yet. */
  get isValid(): boolean {
    return !this.#end.aborted && this.#options.clock.now() < this.#validUntil;
  }

  /** Makes the Lease invalid, so that it may be released. */
  stop(): void {
    this.#timer[Symbol.dispose]();
    this.#stopped.abort(new DOMException("The leader stops", "AbortError"));
  }

  async renewUntilTheEnd(heldSince: number): Promise<void> {
    const { clock } = this.#options;
    try {
      for (let startedAt = heldSince; ;) {
        // After a slow or failed renewal the next one follows soon.
        const pauseMs = Math.max(shortestPauseMs, retryPeriodMs - (clock.now() - startedAt));
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
    this.#validUntil = startedAt + renewDeadlineMs;
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
    this.#options.log.error({}, "Lost the leadership");
  }
}
