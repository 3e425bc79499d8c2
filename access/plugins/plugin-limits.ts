import { Window } from "../http/window.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import { PluginPace } from "./plugin-pace.ts";

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
