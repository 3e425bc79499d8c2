import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { logFailure, logWatchBug } from "../../access/log.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import { Follower } from "../../access/time/deadline.ts";
import type { Part } from "../../api/shards.ts";
import { HeldLease, type HeldLeaseOptions, selectLease } from "./held-lease.ts";
import { isReleased, LeaseHolder, type LeaseOptions, type LeaseTimes, pauseMsOf } from "./lease.ts";

export interface LeaderOptions extends HeldLeaseOptions {
  /** Its requests must not wait behind others, and must be sent also while this process may not write. */
  readonly client: LeaseOptions["client"] & Pick<KubeClient, "list" | "watch">;
  /** Whether replicas with another number of shards work. Asked after the Lease was acquired, because they ask after theirs. Absent: there are none. */
  readonly doOthersWork?: (signal: AbortSignal) => Promise<boolean>;
}

/** What the holder of parts does with them. */
export interface PartWork {
  /** Begins to serve parts that this process holds from now on. Rejects when it cannot, so that the process must end. */
  begin(parts: readonly Part[], signal: AbortSignal): Promise<void>;
  /** Ends the work of a part. Nothing more is written for it when this resolves. */
  end(part: Part): Promise<void>;
}

/** The right to write, as long as the Lease is renewed. */
export interface Leadership extends AsyncDisposable {
  /** Aborted when a Lease could not be renewed in time: this process may write nothing more. */
  readonly lost: AbortSignal;
  /** Whether another process may have written until this one took over. */
  readonly mayFollowAnother: boolean;
  /**
   * Whether this process certainly holds a part now, by the monotonic clock. Correct also after a pause of the whole process. Without a part: whether it lost no
   * Lease.
   */
  mayWrite(part?: Part): boolean;
  /** Takes parts and hands them over until the signal is aborted; rejects then, and when work rejects. Absent: all parts are held from the start until the end. */
  readonly share?: (work: PartWork, signal: AbortSignal) => Promise<never>;
}

/**
 * Waits until this process holds the Lease, and renews it until the disposal, which releases it. After the renew deadline without a
 * renewal the leadership is lost, which is before anybody else may take the Lease. A released Lease is taken at once. A Lease that
 * somebody deleted or emptied still belongs to its holder. Rejects only when the signal is aborted.
 */
export async function lead(options: LeaderOptions, signal: AbortSignal): Promise<Leadership> {
  const { log, identity } = options;
  const lease = new LeaseHolder(options);
  let waiting: Waiting | undefined;
  let waitingFor: string | undefined;
  let areOthersAtWork = false;
  try {
    for (;;) {
      if (areOthersAtWork) areOthersAtWork = await mayOthersWork(options, signal);
      const { holder, heldSince } = areOthersAtWork
        ? { holder: otherReplicas }
        : await lease.tryToAcquire(signal);
      if (heldSince !== undefined) {
        const held = new HeldLease(lease, options, heldSince);
        areOthersAtWork = await orDispose(held, () => mayOthersWork(options, signal));
        if (!areOthersAtWork) {
          log.info({ lease: options.name, identity }, "Became the leader");
          return leadershipOf(held);
        }
        await held[Symbol.asyncDispose]();
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

const otherReplicas = "replicas with another number of shards";

/** Leadership of the only replica, which is never lost. For `--disable-ha`. */
export function soleLeadership(): Leadership {
  return {
    lost: new AbortController().signal,
    mayFollowAnother: false,
    mayWrite: () => true,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function leadershipOf(held: HeldLease): Leadership {
  return {
    lost: held.lost,
    mayFollowAnother: true,
    mayWrite: () => held.isValid,
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

/** Whether replicas with another number of shards work. True when that is not known. Rejects only when the signal is aborted. */
async function mayOthersWork(
  { doOthersWork, log, onTrouble }: LeaderOptions,
  signal: AbortSignal,
): Promise<boolean> {
  if (doOthersWork === undefined) return false;
  try {
    const doWork = await doOthersWork(signal);
    onTrouble?.(false);
    return doWork;
  } catch (err) {
    signal.throwIfAborted();
    // Rights of an older chart, or written by hand: replicas that share the fleet need this right, so there are none.
    if (err instanceof ApiError && err.status === 403) return false;
    onTrouble?.(true);
    logFailure(log, "warn", { err }, "Could not read the Leases of other replicas");
    return true;
  }
}

/** Disposes what was acquired when the work with it rejects. */
async function orDispose<T>(acquired: AsyncDisposable, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await acquired[Symbol.asyncDispose]();
    throw error;
  }
}

/** The pause between two tries. It ends early when the holder of the Lease releases it. */
class Waiting implements Disposable {
  readonly #clock: Clock;
  readonly #times: LeaseTimes;
  readonly #watch: Reflector;
  #wake = new AbortController();

  constructor(options: LeaderOptions, signal: AbortSignal) {
    const { client, clock, log, times } = options;
    this.#clock = clock;
    this.#times = times;
    this.#watch = new Reflector(
      { client, clock, ref: selectLease(options) },
      {
        onChange: (lease) => {
          if (isReleased(lease)) this.#wake.abort();
        },
        onDelete: () => this.#wake.abort(),
        // The next try reads the Lease anyway, and reports its failure.
        onError: (err) => log.debug({ err }, "Cannot watch the Lease"),
        onBug: logWatchBug(log, "Lease"),
      },
      signal,
    );
  }

  async waitForNextTry(signal: AbortSignal): Promise<void> {
    using early = new Follower(signal, this.#wake.signal);
    await delay(this.#clock, pauseMsOf(this.#times, this.#clock), early.signal).catch(() =>
      signal.throwIfAborted(),
    );
    this.#wake = new AbortController();
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }
}
