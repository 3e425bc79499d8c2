import { PluginPace } from "./plugin-pace.ts";
import { Window } from "./window.ts";

const maxPlugins = 8;
const usualConcurrency = 2;

/**
 * How many exec plugins run at the same time in a process: 8, and of one provider as many as it says, 2 when it says
 * nothing. And how often one profile may have a credential obtained. Security: T-22, T-45.
 */
export class PluginLimits {
  readonly pace = new PluginPace();
  readonly #all = new Window(maxPlugins);
  /** By provider and its limit, so that a changed file has a window of its own. */
  readonly #windows = new Map<string, Window>();

  /** Waits for a place; dispose the result to give it back. Rejects with the reason of the signal. */
  async enter(
    { provider, maxConcurrency }: { readonly provider: string; readonly maxConcurrency?: number },
    signal: AbortSignal,
  ): Promise<Disposable> {
    using places = new DisposableStack();
    // First its own, so that those who wait for it do not hold a place of the others.
    places.use(await this.#windowOf(provider, maxConcurrency ?? usualConcurrency).enter(signal));
    places.use(await this.#all.enter(signal));
    return places.move();
  }

  #windowOf(provider: string, limit: number): Window {
    const key = `${limit} ${provider}`;
    const known = this.#windows.get(key);
    if (known !== undefined) return known;
    const window = new Window(limit);
    this.#windows.set(key, window);
    return window;
  }
}
