import { PluginPace } from "./plugin-pace.ts";
import { Window } from "./window.ts";

export interface PluginLimitsOptions {
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
  /** By provider and its limit, so that a changed file has a window of its own. */
  readonly #windows = new Map<string, Window>();

  constructor(options: PluginLimitsOptions = usual) {
    this.#options = options;
    this.#all = new Window(options.limit);
    this.#long = new Window(options.longLimit);
  }

  /** Waits for a place; dispose the result to give it back. Rejects with the reason of the signal. */
  async enter(
    { provider, maxConcurrency }: { readonly provider: string; readonly maxConcurrency?: number },
    signal: AbortSignal,
  ): Promise<Disposable> {
    using places = new DisposableStack();
    const short = new DisposableStack();
    places.use(short);
    // First its own, so that those who wait for it do not hold a place of the others.
    const own = await this.#windowOf(provider, maxConcurrency ?? usualConcurrency).enter(signal);
    (maxConcurrency === undefined ? short : places).use(own);
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

  #windowOf(provider: string, limit: number): Window {
    const key = `${limit} ${provider}`;
    const known = this.#windows.get(key);
    if (known !== undefined) return known;
    const window = new Window(limit);
    this.#windows.set(key, window);
    return window;
  }
}
