import type { ClusterProfileRef } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { nameId } from "../../api/keys.ts";
import { AnswerBudget } from "../answer-limits.ts";
import { KeepBudget } from "../kube/keep-budget.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { PluginHomes } from "../plugins/plugin-homes.ts";
import { PluginLimits } from "../plugins/plugin-limits.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import { loadProviderFile } from "../providers/provider-file.ts";
import { isShared, type ReferencePolicy } from "../providers/reference-policy.ts";
import { assertSomeUsable } from "../providers/select-provider.ts";
import type { Clock } from "../time/clock.ts";
import { ConnectTurns } from "./connect-turns.ts";
import { type AccessOutcome, notConfigured } from "./resolved-access.ts";
import type { SpokeDeps } from "./spoke-deps.ts";
import { SpokeKeeper } from "./spoke-keeper.ts";
import { type SpokeLog, SpokeLogger } from "./spoke-logger.ts";
import { SpokeProfiles } from "./spoke-profiles.ts";
import type { SpokeConnection, Spokes, SpokeState, WantedSpoke } from "./spokes.ts";

/** What all connections of a process may take together. */
export interface SpokeLimits {
  readonly plugins: PluginLimits;
  readonly turns: ConnectTurns;
  readonly answers: AnswerBudget;
  readonly kept: KeepBudget;
}

export function newSpokeLimits(clock: Clock): SpokeLimits {
  return {
    plugins: new PluginLimits(clock),
    turns: new ConnectTurns(clock),
    answers: new AnswerBudget(),
    kept: new KeepBudget(),
  };
}

export interface SpokesOptions extends Omit<SpokeDeps, keyof SpokeLimits | "homes" | "hub"> {
  /** Absent: limits of its own. */
  readonly limits?: SpokeLimits;
  readonly hub: Pick<KubeClient, "get" | "list" | "watch">;
  /** Path of the provider file. Without it and without `providers` every `acquire` throws `AccessProviderNotConfigured`. */
  readonly providerFile?: string;
  /** What a provider file would say, for a caller that has no file to follow. */
  readonly providers?: ProviderFile;
  /** Existing folder for the `HOME` folders of exec plugins. Absent: the temporary folder. */
  readonly pluginHomeDir?: string;
  /** Managers whose profiles are trusted. Absent: all. */
  readonly trust?: Pick<ReferencePolicy, "trustedManagers"> &
    Partial<Pick<ReferencePolicy, "mode" | "trustedNamespaces">>;
  readonly log?: SpokeLog;
  /** How long an unused connection is kept, in ms. Default: a minute. */
  readonly releaseMs?: number;
}

/**
 * Manages the connections to spokes: loads the provider file, and follows it and the ClusterProfiles on the hub. The first `acquire` for a spoke connects
 * to it. Disposing closes all connections.
 *
 * Throws `FleetError` `ConfigInvalid` when the provider file is not usable.
 */
export async function openSpokes(options: SpokesOptions, signal: AbortSignal): Promise<Spokes> {
  const place = providerPlace(options);
  if (place === undefined) return new SpokeFleet(options, options.providers);
  const providers = await loadProviderFile(place, signal);
  assertSomeUsable(place.path, providers);
  return new SpokeFleet(options, providers);
}

/** The controller is as strict as the webhook, which may be away or may not look at this file. */
function providerPlace({ providerFile: path, pluginRoots: roots = [] }: SpokesOptions) {
  return path === undefined ? undefined : { path, strict: { roots } };
}

const usualReleaseMs = 60_000;

class SpokeFleet implements Spokes {
  readonly #options: SpokesOptions;
  readonly #deps: SpokeDeps;
  readonly #homes: PluginHomes;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(ref: ClusterProfileRef) => void>();
  readonly #keepers = new Map<string, SpokeKeeper>();
  /** Timers that close released connections. */
  readonly #released = new Map<string, Disposable>();
  readonly #profiles: SpokeProfiles | undefined;
  readonly #logger: SpokeLogger;

  constructor(options: SpokesOptions, providers: ProviderFile | undefined) {
    this.#options = options;
    const { limits = newSpokeLimits(options.clock) } = options;
    this.#homes = new PluginHomes(options.pluginHomeDir);
    this.#logger = new SpokeLogger(options);
    const onSharedToken = (spoke: string, others: readonly string[]): void =>
      this.#logger.logSharedToken(spoke, others);
    const conceals = mayBeTenants(options.trust);
    const reports = { onSharedToken, onBug: this.#logger.logBug };
    this.#deps = { ...options, ...limits, homes: this.#homes, ...reports, conceals };
    // Without providers no spoke can be reached, and the hub needs no ClusterProfiles at all.
    if (providers === undefined) return;
    this.#profiles = new SpokeProfiles(
      { ...options, place: providerPlace(options), plugins: limits.plugins, logger: this.#logger },
      providers,
      {
        onOutcome: (ref, outcome) => {
          this.#keepers.get(nameId(ref))?.update(outcome);
          this.#notify(ref);
        },
        onLeaving: (ref) => this.#notify(ref),
        onGone: (ref, error) => {
          void this.#end(nameId(ref), error);
          this.#notify(ref);
        },
      },
      this.#stop.signal,
    );
  }

  async acquire(wanted: WantedSpoke, signal: AbortSignal): Promise<SpokeConnection> {
    signal.throwIfAborted();
    if (this.#stop.signal.aborted) throw closed();
    if (this.#profiles === undefined) throw notConfigured();
    await this.#profiles.ready(signal);
    this.#cancelRelease(nameId(wanted));
    return this.#keeperOf(wanted, this.#profiles.outcomeOf(wanted)).acquire(signal);
  }

  onChange(listener: (ref: ClusterProfileRef) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  state(ref: ClusterProfileRef): SpokeState | undefined {
    return this.#keepers.get(nameId(ref))?.state;
  }

  release(ref: ClusterProfileRef): void {
    const key = nameId(ref);
    if (!this.#keepers.has(key)) return;
    this.#cancelRelease(key);
    const close = (): void => {
      this.#logger.logRelease(key);
      void this.#end(key, new FleetError("RemoteClusterStale", "No component is for the cluster"));
    };
    const { clock, releaseMs = usualReleaseMs } = this.#options;
    this.#released.set(key, clock.after(releaseMs, close, "background"));
  }

  async disconnect(isLeft: (spoke: string) => boolean): Promise<void> {
    const left = [...this.#keepers.keys()].filter(isLeft);
    const error = new FleetError("RemoteClusterStale", "Another replica serves the cluster");
    await Promise.all(left.map((key) => this.#end(key, error)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(closed());
    this.#listeners.clear();
    await Promise.all([...this.#keepers.keys()].map((key) => this.#end(key, closed())));
    await this.#homes[Symbol.asyncDispose]();
  }

  #keeperOf({ namespace, name }: ClusterProfileRef, outcome: AccessOutcome): SpokeKeeper {
    const ref = { namespace, name };
    const key = nameId(ref);
    const known = this.#keepers.get(key);
    if (known !== undefined) return known;
    const keeper: SpokeKeeper = new SpokeKeeper(outcome, this.#deps, () => {
      this.#reportState(ref);
      // Nothing changes for callers before the end of the attempt.
      if (this.state(ref)?.kind !== "connecting") this.#notify(ref);
    });
    this.#keepers.set(key, keeper);
    this.#options.path?.setSpokeState(key, keeper.state.kind);
    return keeper;
  }

  /** Resolves when the connection is closed. Its signal tells its users. */
  async #end(key: string, error: FleetError): Promise<void> {
    this.#cancelRelease(key);
    const keeper = this.#keepers.get(key);
    this.#keepers.delete(key);
    this.#options.path?.removeSpoke(key);
    await keeper?.close(error);
  }

  #cancelRelease(key: string): void {
    this.#released.get(key)?.[Symbol.dispose]();
    this.#released.delete(key);
  }

  #reportState(ref: ClusterProfileRef): void {
    const state = this.state(ref);
    if (state === undefined) return;
    const spoke = nameId(ref);
    this.#options.path?.setSpokeState(spoke, state.kind);
    this.#logger.logState(spoke, state);
  }

  #notify(ref: ClusterProfileRef): void {
    for (const listener of this.#listeners) listener(ref);
  }
}

/** Whether a tenant may have written a ClusterProfile that counts: in a hub that several teams share, unless its namespaces are named. */
function mayBeTenants(trust: SpokesOptions["trust"]): boolean {
  const { mode = "Any", trustedNamespaces } = trust ?? {};
  return isShared({ mode }) && trustedNamespaces === undefined;
}

function closed(): FleetError {
  return new FleetError("ClusterProviderClosed", "The connections to spokes are being closed");
}
