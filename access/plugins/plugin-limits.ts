import { setTimeout as delay } from "node:timers/promises";

import { Window } from "../http/window.ts";
import type { ProviderFile } from "../providers/provider-config.ts";

interface PluginLimitsOptions {
  /** Plugins at the same time. */
  readonly limit: number;
  /** How many more, of those that take long. */
  readonly longLimit: number;
  /** From when on one takes long, in ms: by then most have ended, and one that hangs would keep the others waiting. */
  readonly longMs: number;
}

const usual: PluginLimitsOptions = { limit: 8, longLimit: 4, longMs: 2_000 };
const usualConcurrency = 2;

/**
 * How many exec plugins run at the same time in a process: 8, and of one provider as many as it says, 2 when it says
 * nothing. Up to 4 that take long are not counted among them, but what a provider says of itself it gets. And how often one profile
 * may have a credential obtained. Security: T-22, T-45.
 */
export class PluginLimits {
  readonly pace = new PluginPace();
  readonly #options: PluginLimitsOptions;
  readonly #all: Window;
  readonly #long: Window;
  /** What each provider of the file in use says. */
  #said = new Map<string, number | undefined>();
  /** By provider. */
  readonly #windows = new Map<string, Window>();

  constructor(options: PluginLimitsOptions = usual) {
    this.#options = options;
    this.#all = new Window(options.limit);
    this.#long = new Window(options.longLimit);
  }

  /** From now on, and also for those that wait, a provider has the limit that this file gives it. */
  follow({ providers }: ProviderFile): void {
    // Of several providers with one name the first one counts.
    const said = providers.toReversed();
    this.#said = new Map(said.map(({ name, maxConcurrency }) => [name, maxConcurrency]));
    for (const [name, limit] of this.#said) this.#windows.get(name)?.resize(sizeOf(limit));
  }

  /**
   * Waits for a place; `maxConcurrency` is for a provider that the file in use does not name. Dispose the result to give it back. Rejects
   * with the reason of the signal.
   */
  async enter(
    { provider, maxConcurrency }: { readonly provider: string; readonly maxConcurrency?: number },
    signal: AbortSignal,
  ): Promise<Disposable> {
    const limit = (): number | undefined =>
      this.#said.has(provider) ? this.#said.get(provider) : maxConcurrency;
    using places = new DisposableStack();
    const short = new DisposableStack();
    places.use(short);
    // First its own, so that those who wait for it do not hold a place of the others.
    const own = await this.#windowOf(provider, sizeOf(limit())).enter(signal);
    // By the file that is in use by now.
    (limit() === undefined ? short : places).use(own);
    short.use(await this.#all.enter(signal));
    places.use(this.#moveWhenLong(short));
    return places.move();
  }

  /** After a while the run takes a place of those that take long, as soon as there is one, and leaves its others. */
  #moveWhenLong(short: DisposableStack): Disposable {
    const end = new AbortController();
    const place = new DisposableStack();
    const move = async (): Promise<void> => {
      const long = await this.#long.enter(end.signal);
      if (end.signal.aborted) return long[Symbol.dispose]();
      place.use(long);
      short.dispose();
    };
    const late = setTimeout(() => {
      // Rejects when the run ends before there is a place.
      move().catch(() => undefined);
    }, this.#options.longMs).unref();
    return {
      [Symbol.dispose]: () => {
        clearTimeout(late);
        end.abort();
        place.dispose();
      },
    };
  }

  #windowOf(provider: string, size: number): Window {
    const known = this.#windows.get(provider);
    if (known !== undefined) return known;
    const window = new Window(size);
    this.#windows.set(provider, window);
    return window;
  }
}

function sizeOf(limit: number | undefined): number {
  return limit ?? usualConcurrency;
}

interface PluginPaceOptions {
  /** One run in so many milliseconds, in the long run. */
  readonly intervalMs: number;
  /** So many at once after a time of rest. */
  readonly burst: number;
  /** After so many new connections without a rest the interval doubles with each further one. */
  readonly patience: number;
  /** What it grows to. */
  readonly maxIntervalMs: number;
}

// The second run at once is for a credential that the server refused. Half a minute of new connections is no accident.
const usualPace: PluginPaceOptions = {
  intervalMs: 5_000,
  burst: 2,
  patience: 6,
  maxIntervalMs: 300_000,
};

interface Weariness {
  /** When it will have rested enough for a whole burst. */
  readonly restedAt: number;
  /** Between its runs. */
  readonly intervalMs: number;
  /** Those of new connections, without a rest. */
  readonly runs: number;
}

/**
 * How often a credential may be obtained for one profile: a profile that flaps, or a server that refuses every credential,
 * must not become a storm of plugins. Who never rests waits longer and longer. Remembers only profiles of the last runs, also
 * deleted ones, because a profile that is deleted and created again and again is the same storm. Security: T-22.
 */
export class PluginPace {
  readonly #options: PluginPaceOptions;
  /** By profile. */
  readonly #weary = new Map<string, Weariness>();

  constructor(options: PluginPaceOptions = usualPace) {
    this.#options = options;
  }

  /** Profiles that are remembered. */
  get size(): number {
    return this.#weary.size;
  }

  /**
   * Waits until the profile may have another run, and counts it; `isFirst` is the first one of a new connection, and only many
   * of these make the pace slower. Rejects with the reason of the signal.
   */
  async enter(profile: string, isFirst: boolean, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const now = performance.now();
      this.#forget(now);
      const known = this.#weary.get(profile);
      const waitMs = known === undefined ? 0 : this.#waitMs(known, now);
      if (waitMs <= 0) {
        this.#weary.set(profile, this.#wearier(known, isFirst, now));
        return;
      }
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #waitMs({ restedAt, intervalMs }: Weariness, now: number): number {
    return restedAt - now - (this.#options.burst - 1) * intervalMs;
  }

  #wearier(known: Weariness | undefined, isFirst: boolean, now: number): Weariness {
    const { intervalMs: first, burst, patience, maxIntervalMs } = this.#options;
    if (known === undefined || known.restedAt <= now) {
      return { restedAt: now + first, intervalMs: first, runs: 1 };
    }
    const runs = known.runs + (isFirst ? 1 : 0);
    const intervalMs = Math.min(maxIntervalMs, first * 2 ** Math.max(0, runs - patience));
    // A longer interval counts from now on, and leaves no room for a second run at once.
    const restedAt =
      intervalMs > known.intervalMs ? now + burst * intervalMs : known.restedAt + intervalMs;
    return { restedAt, intervalMs, runs };
  }

  #forget(now: number): void {
    for (const [profile, { restedAt }] of this.#weary) {
      if (restedAt <= now) this.#weary.delete(profile);
    }
  }
}
