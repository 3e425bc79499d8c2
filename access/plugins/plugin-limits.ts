import type { ProviderFile } from "../providers/provider-config.ts";
import { backoffMs } from "../time/backoff.ts";
import { type Clock, pause } from "../time/clock.ts";
import { Semaphore } from "../time/semaphore.ts";
import { TokenBucket, type TokenBucketOptions } from "../time/token-bucket.ts";

interface PluginLimitsOptions {
  /** Plugins that may run at the same time. */
  readonly limit: number;
  /** Further plugins that may run, of those that run longer than `longMs`. */
  readonly longLimit: number;
  /** When a run counts as long, in ms. Most plugins have ended by then, so that only hanging ones leave the first limit. */
  readonly longMs: number;
}

const usual: PluginLimitsOptions = { limit: 8, longLimit: 4, longMs: 2_000 };
const usualConcurrency = 2;

/**
 * Limits how many exec plugins run at the same time in this process: 8, and 2 of one provider unless it sets `maxConcurrency`. Up to 4
 * long runs do not count in these two numbers, but they do count in a `maxConcurrency`. `pace` limits how often each profile obtains a
 * credential. Security: T-22, T-45.
 */
export class PluginLimits {
  readonly pace: PluginPace;
  readonly #clock: Clock;
  readonly #options: PluginLimitsOptions;
  readonly #all: Semaphore;
  readonly #long: Semaphore;
  /** `maxConcurrency` of each provider of the file in use. */
  #configured = new Map<string, number | undefined>();
  readonly #byProvider = new Map<string, Semaphore>();

  constructor(clock: Clock, options: PluginLimitsOptions = usual) {
    this.pace = new PluginPace(clock);
    this.#clock = clock;
    this.#options = options;
    this.#all = new Semaphore(options.limit);
    this.#long = new Semaphore(options.longLimit);
  }

  /** Uses the limits of a new provider file, also for runs that wait already. */
  follow({ providers }: ProviderFile): void {
    // Reversed, because the first provider of a name counts.
    const entries = providers.toReversed();
    this.#configured = new Map(entries.map(({ name, maxConcurrency }) => [name, maxConcurrency]));
    for (const [name, limit] of this.#configured) this.#byProvider.get(name)?.resize(sizeOf(limit));
  }

  /**
   * Waits until a plugin may run; dispose the result when it has ended. `maxConcurrency` is used when the provider file does not have the provider.
   * Rejects with the reason of the signal.
   */
  async enter(
    { provider, maxConcurrency }: { readonly provider: string; readonly maxConcurrency?: number },
    signal: AbortSignal,
  ): Promise<Disposable> {
    const limit = (): number | undefined =>
      this.#configured.has(provider) ? this.#configured.get(provider) : maxConcurrency;
    using places = new DisposableStack();
    const short = new DisposableStack();
    places.use(short);
    // The place of the provider comes first, so that runs that wait for it hold no place that other providers could use.
    const own = await this.#placesOf(provider, sizeOf(limit())).enter(signal);
    // Asked again, because the file may have changed during the wait.
    (limit() === undefined ? short : places).use(own);
    short.use(await this.#all.enter(signal));
    places.use(this.#moveWhenLong(short));
    return places.move();
  }

  /** Moves a run to the places for long runs after `longMs`, as soon as one is free, and frees its `short` places. */
  #moveWhenLong(short: DisposableStack): Disposable {
    const end = new AbortController();
    const place = new DisposableStack();
    const move = async (): Promise<void> => {
      const long = await this.#long.enter(end.signal);
      if (end.signal.aborted) return long[Symbol.dispose]();
      place.use(long);
      short.dispose();
    };
    const moveLate = (): void => {
      // Rejects when the run ends before a place is free.
      move().catch(() => undefined);
    };
    const late = this.#clock.after(this.#options.longMs, moveLate, "background");
    return {
      [Symbol.dispose]: () => {
        late[Symbol.dispose]();
        end.abort();
        place.dispose();
      },
    };
  }

  #placesOf(provider: string, size: number): Semaphore {
    const existing = this.#byProvider.get(provider);
    if (existing !== undefined) return existing;
    const places = new Semaphore(size);
    this.#byProvider.set(provider, places);
    return places;
  }
}

function sizeOf(limit: number | undefined): number {
  return limit ?? usualConcurrency;
}

interface PluginPaceOptions extends TokenBucketOptions {
  /** The interval doubles with each new connection beyond this number, until the burst is full again. */
  readonly patience: number;
  readonly maxIntervalMs: number;
}

// The burst of 2 allows a second run when the server rejects the first credential. A profile that still opens new connections after half a minute flaps.
const usualPace: PluginPaceOptions = {
  intervalMs: 5_000,
  burst: 2,
  patience: 6,
  maxIntervalMs: 300_000,
};

interface Account {
  bucket: TokenBucket;
  /** New connections since the bucket was last full. */
  connections: number;
  /** When `register` renewed the credential of the profile, as the last run was told. */
  renewed: string | undefined;
  /** Until when another renewal frees no run. */
  heldUntilMs: number;
}

// Whoever writes a ClusterProfile can write a renewal, too, and each one starts a plugin.
const renewalMs = 60_000;

/** One run of a plugin. */
interface PacedRun {
  /** Whether it is the first run of a new connection. Only those make the interval grow. */
  readonly isFirst: boolean;
  /** When `register` renewed the credential. Another value than before frees the next run, once a minute. */
  readonly renewed?: string | undefined;
}

/**
 * A token bucket for each profile, which limits how often its credential is obtained: a profile that flaps, or a server that rejects every
 * credential, must not start plugin after plugin. The interval grows while the bucket stays empty. Buckets of deleted profiles stay
 * until they are full, because a profile may be deleted and created again and again. Security: T-22.
 */
export class PluginPace {
  readonly #clock: Clock;
  readonly #options: PluginPaceOptions;
  /** By profile; those with a full bucket are removed. */
  readonly #accounts = new Map<string, Account>();

  constructor(clock: Clock, options: PluginPaceOptions = usualPace) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Number of profiles with a bucket. */
  get size(): number {
    return this.#accounts.size;
  }

  /**
   * Waits until a plugin may run for the profile, and counts the run. Rejects with the reason of the signal.
   */
  async enter(profile: string, { isFirst, renewed }: PacedRun, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const now = this.#clock.now();
      this.#forget(now);
      const account = this.#accounts.get(profile) ?? {
        bucket: new TokenBucket(this.#options),
        connections: 0,
        renewed,
        heldUntilMs: 0,
      };
      this.#accounts.set(profile, account);
      if (renewed !== account.renewed) this.#renew(account, renewed, now);
      const waitMs = account.bucket.untilMs(now);
      if (waitMs === 0) return this.#count(account, isFirst, now);
      await pause(this.#clock, waitMs, signal);
    }
  }

  #renew(account: Account, renewed: string | undefined, now: number): void {
    account.renewed = renewed;
    if (now < account.heldUntilMs) return;
    account.heldUntilMs = now + renewalMs;
    account.bucket = new TokenBucket(this.#options);
    account.connections = 0;
  }

  #count(account: Account, isFirst: boolean, now: number): void {
    const { burst } = this.#options;
    const before = this.#intervalMs(account);
    if (isFirst || account.connections === 0) account.connections += 1;
    const intervalMs = this.#intervalMs(account);
    // A longer interval starts now with an empty bucket, so that no second run may follow at once.
    if (intervalMs > before) {
      account.bucket = new TokenBucket({ burst, intervalMs }, now + burst * intervalMs);
    } else account.bucket.take(now);
  }

  #intervalMs({ connections }: Account): number {
    const { intervalMs: firstMs, patience, maxIntervalMs: longestMs } = this.#options;
    return backoffMs({ firstMs, longestMs }, 1 + Math.max(0, connections - patience));
  }

  #forget(now: number): void {
    for (const [profile, { bucket }] of this.#accounts) {
      if (bucket.fullAt <= now) this.#accounts.delete(profile);
    }
  }
}
