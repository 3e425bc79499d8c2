import { setTimeout as delay } from "node:timers/promises";

export interface PluginPaceOptions {
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
const usual: PluginPaceOptions = {
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

  constructor(options: PluginPaceOptions = usual) {
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
