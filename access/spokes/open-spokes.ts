import {
  type ClusterProfile,
  clusterProfileApiVersion,
  isClusterProfile,
  leavingMessage,
} from "../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { nameId } from "../../api/keys.ts";
import { describe, type KubeObject, withoutManagedFields } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { AnswerBudget } from "../answer-limits.ts";
import { WriteRefusedError } from "../http/write-permit.ts";
import { KeepBudget } from "../kube/keep-budget.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { ServedKind } from "../kube/profile-versions.ts";
import { Reflector } from "../kube/reflector.ts";
import { PluginHomes } from "../plugins/plugin-homes.ts";
import { PluginLimits } from "../plugins/plugin-limits.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import { loadProviderFile, watchProviderFile } from "../providers/provider-file.ts";
import { isShared, type ReferencePolicy } from "../providers/reference-policy.ts";
import { assertSomeUsable } from "../providers/select-provider.ts";
import { abortable, withTimeout } from "../time/deadline.ts";
import { failedResolve } from "./attempt-steps.ts";
import { ConnectTurns } from "./connect-turns.ts";
import {
  notConfigured,
  type AccessOutcome,
  accessOutcomeOf,
  isSameOutcome,
  withFileNote,
} from "./resolved-access.ts";
import type { SpokeDeps } from "./spoke-deps.ts";
import { SpokeKeeper } from "./spoke-keeper.ts";
import { type SpokeLog, SpokeLogger } from "./spoke-logger.ts";
import type { SpokeConnection, Spokes, SpokeState, WantedSpoke } from "./spokes.ts";

export interface SpokesOptions extends Omit<
  SpokeDeps,
  "plugins" | "homes" | "turns" | "answers" | "kept" | "hub"
> {
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

const syncTimeoutMs = 10_000;
const maxBackoffMs = 10_000;
const usualReleaseMs = 60_000;

class SpokeFleet implements Spokes {
  readonly #options: SpokesOptions;
  readonly #deps: SpokeDeps;
  readonly #plugins: PluginLimits;
  readonly #homes: PluginHomes;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(ref: ClusterProfileRef) => void>();
  readonly #keepers = new Map<string, SpokeKeeper>();
  /** Timers that close released connections. */
  readonly #released = new Map<string, Disposable>();
  readonly #outcomes = new Map<string, AccessOutcome>();
  /** Why profiles are not ready that are being deleted. */
  readonly #leaving = new Map<string, string>();
  readonly #profiles: Reflector | undefined;
  #providers: ProviderFile | undefined;
  readonly #logger: SpokeLogger;
  #isFileValid = true;
  #hubError: unknown;

  constructor(options: SpokesOptions, providers: ProviderFile | undefined) {
    const { clock, hub } = options;
    this.#options = options;
    this.#plugins = new PluginLimits(clock);
    this.#homes = new PluginHomes(options.pluginHomeDir);
    this.#logger = new SpokeLogger(options);
    const onSharedToken = (spoke: string, others: readonly string[]): void =>
      this.#logger.logSharedToken(spoke, others);
    const limits = {
      plugins: this.#plugins,
      homes: this.#homes,
      turns: new ConnectTurns(clock),
      answers: new AnswerBudget(),
      kept: new KeepBudget(),
    };
    const conceals = mayBeTenants(options.trust);
    this.#deps = { ...options, ...limits, onSharedToken, onBug: this.#logger.logBug, conceals };
    this.#providers = providers;
    // Without providers no spoke can be reached, and the hub needs no ClusterProfiles at all.
    if (providers === undefined) return;
    this.#logger.logProviders(providers);
    this.#plugins.follow(providers);
    options.path?.setProviderFileValid(true);
    this.#profiles = new Reflector(
      {
        client: new ServedKind(hub),
        clock,
        ref: { resource: knownResource(clusterProfileApiVersion, "ClusterProfile") },
        keep: withoutManagedFields,
        maxBackoffMs,
      },
      {
        onChange: (object) => this.#onProfile(object),
        onDelete: (object) => this.#onProfileGone(object),
        onError: (error) => this.#onHubError(error),
        onBug: (err) => options.log?.error({ kind: "ClusterProfile", err }, "A watch has a bug"),
        onSynced: () => void (this.#hubError = undefined),
      },
      this.#stop.signal,
    );
    const place = providerPlace(options);
    if (place === undefined) return;
    const watch = {
      clock,
      known: providers,
      onChange: (file: ProviderFile) => this.#onProviders(file),
      onInvalid: (error: unknown) => {
        this.#options.log?.warn(factsOf(error), "Kept the last good provider file");
        this.#setFileValid(false);
      },
      onValid: () => this.#setFileValid(true),
    };
    // Ends when the fleet is disposed.
    void watchProviderFile(place, watch, this.#stop.signal);
  }

  async acquire(
    { isRemoval = false, ...ref }: WantedSpoke,
    signal: AbortSignal,
  ): Promise<SpokeConnection> {
    signal.throwIfAborted();
    if (this.#stop.signal.aborted) throw closed();
    if (this.#profiles === undefined) throw notConfigured();
    await this.#waitForProfiles(this.#profiles, signal);
    const key = nameId(ref);
    this.#cancelRelease(key);
    const outcome = this.#outcomes.get(key);
    if (outcome === undefined) {
      const name = describe({ kind: "ClusterProfile", ...ref });
      throw new FleetError("ClusterProfileNotFound", `${name} does not exist`);
    }
    const leaving = this.#leaving.get(key);
    if (leaving !== undefined && !isRemoval)
      throw new FleetError("ClusterProfileNotReady", leaving);
    return this.#keeperOf(ref, outcome).acquire(signal);
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

  async #waitForProfiles(profiles: Reflector, signal: AbortSignal): Promise<void> {
    const isSynced = (): boolean => profiles.isSynced;
    if (isSynced()) return;
    if (this.#hubError === undefined) {
      const late = withTimeout(this.#options.clock, syncTimeoutMs, signal);
      await abortable(profiles.synced, late).catch(() => undefined);
      signal.throwIfAborted();
    }
    if (isSynced()) return;
    throw new FleetError("ClusterProfileUnavailable", "ClusterProfiles cannot be read on the hub", {
      cause: this.#hubError,
    });
  }

  #onProfile(object: KubeObject): void {
    if (!isClusterProfile(object)) return;
    const { namespace, name } = object.metadata;
    const key = nameId(object.metadata);
    const before = this.#outcomes.get(key);
    const { clock } = this.#options;
    const startMs = clock.now();
    const resolved = accessOutcomeOf(object, { ...this.#options, providers: this.#providers });
    const timed = { ...resolved, resolved: { startMs, endMs: clock.now() } };
    const outcome = withFileNote(timed, this.#isFileValid);
    const isLeaving = this.#noteLeaving(key, object);
    if (before !== undefined && isSameOutcome(before, outcome)) {
      if (isLeaving) this.#notify({ namespace, name });
      return;
    }
    this.#outcomes.set(key, outcome);
    if (outcome.kind === "access") this.#logger.logAccess(outcome.access);
    this.#reportFailure({ namespace, name }, outcome);
    this.#keepers.get(key)?.update(outcome);
    this.#notify({ namespace, name });
  }

  /** Whether a profile is being deleted since it was last seen. */
  #noteLeaving(key: string, profile: ClusterProfile): boolean {
    const leaving = leavingMessage(profile);
    const isNew = leaving !== undefined && !this.#leaving.has(key);
    if (leaving === undefined) this.#leaving.delete(key);
    else this.#leaving.set(key, leaving);
    return isNew;
  }

  #onProfileGone(object: KubeObject): void {
    const { namespace = "", name } = object.metadata;
    const [ref, key] = [{ namespace, name }, nameId({ namespace, name })];
    this.#outcomes.delete(key);
    this.#leaving.delete(key);
    this.#logger.forget(object);
    // The same message as in `acquire`.
    const gone = `${describe({ kind: "ClusterProfile", ...ref })} does not exist`;
    void this.#end(key, new FleetError("ClusterProfileNotFound", gone));
    this.#notify(ref);
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

  #onProviders(file: ProviderFile): void {
    this.#providers = file;
    this.#options.log?.info({ providers: file.providers.length }, "Loaded the provider file");
    this.#logger.logProviders(file);
    // Connections that stay need the new limits, too.
    this.#plugins.follow(file);
    for (const object of this.#profiles?.values() ?? []) this.#onProfile(object);
  }

  /** Notes whether the file on disk is valid. Errors of profiles say when an older file is in use. */
  #setFileValid(isValid: boolean): void {
    this.#options.path?.setProviderFileValid(isValid);
    if (this.#isFileValid === isValid) return;
    this.#isFileValid = isValid;
    for (const object of this.#profiles?.values() ?? []) this.#onProfile(object);
  }

  #onHubError(error: unknown): void {
    const isFirst = this.#hubError === undefined;
    this.#hubError = error;
    // This process has released the Lease and is about to end.
    if (error instanceof WriteRefusedError) return;
    if (isFirst) this.#options.log?.warn(factsOf(error), "Cannot watch ClusterProfiles");
  }

  /** A ClusterProfile without access has no attempt that would report this step. */
  #reportFailure(ref: ClusterProfileRef, outcome: AccessOutcome): void {
    if (outcome.kind !== "error" || outcome.resolved === undefined) return;
    this.#options.onStep?.(failedResolve(ref, outcome.resolved, outcome.error));
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

// Without the cause, which may hold text of a server or plugin.
function factsOf(error: unknown): object {
  return { error: error instanceof Error ? error.message : "unknown" };
}

function closed(): FleetError {
  return new FleetError("ClusterProviderClosed", "The connections to spokes are being closed");
}
