import type { CollectionRef, KubeClient } from "../../access/kube/kube-client.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { type Clock, delay } from "../queue/clock.ts";
import { LeaseEcho, type WorkConnection } from "./lease-echo.ts";
import { isLetGo, LeaseHolder, type LeaseOptions, leases } from "./lease.ts";

export interface LeaderOptions extends LeaseOptions {
  /** Its requests must not have to wait behind others, and are sent whoever may write. */
  readonly client: LeaseOptions["client"] & Pick<KubeClient, "list" | "watch">;
  /** Those of the leader's work: one on which the renewals do not appear is exchanged. Absent: there are none. */
  readonly working?: readonly WorkConnection[];
}

/** The right to write, for as long as it is renewed. */
export interface Leadership extends AsyncDisposable {
  /** Aborted when the Lease could not be renewed in time: nothing more may be written by this process. */
  readonly lost: AbortSignal;
  /** Another process may have written until this one took over. */
  readonly mayFollowAnother: boolean;
  /** Whether the Lease is held for certain right now, by the monotonic clock; also true to say after a long pause. */
  mayWrite(): boolean;
}

const renewDeadlineMs = 10_000;
const retryPeriodMs = 2_000;
const shortestPauseMs = 500;

/**
 * Waits until this process holds the Lease, then keeps it until disposed, which releases it. Lease 15 s, renewed every 2 s, given up
 * after 10 s without a renewal: earlier than anybody else may take it. A Lease that is released is taken at once; one that was deleted or
 * emptied while it was held stays its holder's. Rejects only when the signal is aborted.
 */
export async function lead(options: LeaderOptions, signal: AbortSignal): Promise<Leadership> {
  const { log, identity } = options;
  const lease = new LeaseHolder(options);
  let waiting: Waiting | undefined;
  let waitingFor: string | undefined;
  try {
    for (;;) {
      const { holder, heldSince } = await lease.tryToHold(signal);
      if (heldSince !== undefined) {
        log.info({ lease: options.name, identity }, "Became the leader");
        return keep(lease, options, heldSince);
      }
      if (holder !== waitingFor) log.info({ holder: holder ?? "" }, "Waiting to become the leader");
      waitingFor = holder;
      waiting ??= new Waiting(options, signal);
      await waiting.forNextTry(signal);
    }
  } finally {
    waiting?.[Symbol.dispose]();
  }
}

/** Leadership of the only replica: it is never lost. For `--disable-ha`. */
export function soleLeadership(): Leadership {
  return {
    lost: new AbortController().signal,
    mayFollowAnother: false,
    mayWrite: () => true,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The time between two tries, cut short when the Lease is let go: its holder stopped, and somebody has to go on. */
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
          if (isLetGo(lease)) this.#wake.abort();
        },
        onDelete: () => this.#wake.abort(),
        // It is asked for every two seconds anyway, and trouble is told there.
        onError: (err) => log.debug({ err }, "Cannot watch the Lease"),
      },
      signal,
    );
  }

  async forNextTry(signal: AbortSignal): Promise<void> {
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

/** The Lease and nothing else. */
function collectionOf({ namespace, name }: LeaderOptions): CollectionRef {
  return { resource: leases, namespace, fieldSelector: `metadata.name=${name}` };
}

/** A Lease in our hands, for a time that only renewals prolong. */
class HeldLease {
  readonly #lease: LeaseHolder;
  readonly #options: LeaderOptions;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  readonly #end = AbortSignal.any([this.#lost.signal, this.#stopped.signal]);
  /** Counted from the start of the last request that succeeded: the server counts from later. */
  #validUntil: number;
  #timer: Disposable;
  readonly #echoes: readonly LeaseEcho[];

  constructor(lease: LeaseHolder, options: LeaderOptions, heldSince: number) {
    this.#lease = lease;
    this.#options = options;
    this.#validUntil = heldSince + renewDeadlineMs;
    this.#timer = this.#timerAtEnd();
    const { working = [], log } = options;
    const ref = collectionOf(options);
    this.#echoes = working.map((connection) => new LeaseEcho({ connection, ref, log }, this.#end));
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Looks at the clock, because after a pause of the whole process this may be asked before any timer has fired. */
  get isValid(): boolean {
    return !this.#end.aborted && this.#options.clock.now() < this.#validUntil;
  }

  /** From now on it is not valid, and may be released. */
  stop(): void {
    this.#timer[Symbol.dispose]();
    this.#stopped.abort(new DOMException("The leader stops", "AbortError"));
  }

  async renewUntilTheEnd(heldSince: number): Promise<void> {
    const { clock } = this.#options;
    try {
      for (let startedAt = heldSince; ;) {
        // What was answered late, or hung and was broken off, is not put off any longer.
        const pauseMs = Math.max(shortestPauseMs, retryPeriodMs - (clock.now() - startedAt));
        await delay(clock, pauseMs, this.#end);
        startedAt = clock.now();
        if (!(await this.#renew())) return this.#lose();
      }
    } catch (error) {
      if (!this.#end.aborted) throw error;
    }
  }

  /** False when it is over; another failure is no reason to stop before the time is. */
  async #renew(): Promise<boolean> {
    if (!this.isValid) return false;
    const startedAt = this.#options.clock.now();
    const outcome = await this.#lease.renew(this.#end);
    if (outcome !== "renewed") return outcome === "failed";
    this.#validUntil = startedAt + renewDeadlineMs;
    this.#timer[Symbol.dispose]();
    this.#timer = this.#timerAtEnd();
    for (const echo of this.#echoes) echo.renewed();
    return true;
  }

  #timerAtEnd(): Disposable {
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
