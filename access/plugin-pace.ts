import { setTimeout as delay } from "node:timers/promises";

export interface PluginPaceOptions {
  /** One run in so many milliseconds, in the long run. */
  readonly intervalMs: number;
  /** So many at once after a time of rest. */
  readonly burst: number;
}

// The second run at once is for a credential that the server refused.
const usual: PluginPaceOptions = { intervalMs: 5_000, burst: 2 };

/**
 * How often a credential may be obtained for one profile: a profile that flaps, or a server that refuses every credential,
 * must not become a storm of plugins. Remembers only profiles of the last seconds, also deleted ones, because a profile
 * that is deleted and created again and again is the same storm. Security: T-22.
 */
export class PluginPace {
  readonly #options: PluginPaceOptions;
  /** By profile: when it will have rested enough for a whole burst. In the order of that time, nearly. */
  readonly #restedAt = new Map<string, number>();

  constructor(options: PluginPaceOptions = usual) {
    this.#options = options;
  }

  /** Profiles that are remembered. */
  get size(): number {
    return this.#restedAt.size;
  }

  /** Waits until the profile may have another run, and counts it. Rejects with the reason of the signal. */
  async enter(profile: string, signal: AbortSignal): Promise<void> {
    const { intervalMs, burst } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const now = performance.now();
      this.#forget(now);
      const restedAt = Math.max(this.#restedAt.get(profile) ?? 0, now);
      const waitMs = restedAt - now - (burst - 1) * intervalMs;
      if (waitMs <= 0) {
        this.#restedAt.delete(profile);
        this.#restedAt.set(profile, restedAt + intervalMs);
        return;
      }
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #forget(now: number): void {
    for (const [profile, restedAt] of this.#restedAt) {
      if (restedAt > now) return;
      this.#restedAt.delete(profile);
    }
  }
}
