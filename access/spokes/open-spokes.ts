import { type ClusterProfile, clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { describe, type KubeObject, withoutManagedFields } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { AnswerBudget } from "../answer-limits.ts";
import { abortable } from "../deadline.ts";
import { WriteRefusedError } from "../http/write-permit.ts";
import { reflectorKey } from "../kube/kept-objects.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { ServedProfiles } from "../kube/profile-versions.ts";
import { Reflector } from "../kube/reflector.ts";
import { PluginLimits } from "../plugins/plugin-limits.ts";
import {
  loadProviderFile,
  type ProviderFile,
  watchProviderFile,
} from "../providers/provider-config.ts";
import type { ReferencePolicy } from "../providers/reference-policy.ts";
import { assertSomeUsable } from "../providers/select-provider.ts";
import { failedResolve } from "./attempt-steps.ts";
import { ConnectTurns } from "./connect-turns.ts";
import {
  notConfigured,
  type Outlook,
  outlookOf,
  sameOutlook,
  withFileNote,
} from "./resolved-access.ts";
import type { SpokeDeps } from "./spoke-deps.ts";
import { SpokeKeeper } from "./spoke-keeper.ts";
import { type SpokeLog, SpokeLogger } from "./spoke-logger.ts";
import type { SpokeConnection, Spokes, SpokeState } from "./spokes.ts";

export interface SpokesOptions extends Omit<SpokeDeps, "plugins" | "turns" | "answers" | "hub"> {
  readonly hub: Pick<KubeClient, "get" | "list" | "watch">;
  /** Path of the provider file; without it every `acquire` throws `AccessProviderNotConfigured`. */
  readonly providerFile?: string;
  /** Managers whose profiles are trusted; absent: all. */
  readonly trust?: Pick<ReferencePolicy, "trustedManagers">;
  readonly log?: SpokeLog;
  /** How long an unused connection is kept, in ms; default a minute. */
  readonly releaseMs?: number;
}

/**
 * Opens the connections to spokes: loads the provider file and follows it and the ClusterProfiles on the hub. Connects
 * to a spoke when it is asked for the first time.
 *
 * Throws `FleetError` `ConfigInvalid` when the provider file cannot be used. Disposing closes all connections.
 */
export async function openSpokes(options: SpokesOptions, signal: AbortSignal): Promise<Spokes> {
  const { providerFile } = options;
  if (providerFile === undefined) return new SpokeFleet(options, undefined);
  const providers = await loadProviderFile(providerFile, signal);
  assertSomeUsable(providerFile, providers);
  return new SpokeFleet(options, providers);
}

const syncTimeoutMs = 10_000;
const maxBackoffMs = 10_000;
const usualReleaseMs = 60_000;

class SpokeFleet implements Spokes {
  readonly #options: SpokesOptions;
  readonly #deps: SpokeDeps;
  readonly #plugins = new PluginLimits();
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(ref: ClusterProfileRef) => void>();
  readonly #keepers = new Map<string, SpokeKeeper>();
  /** Timers that close released connections. */
  readonly #released = new Map<string, NodeJS.Timeout>();
  readonly #outlooks = new Map<string, Outlook>();
  readonly #profiles: Reflector | undefined;
  #providers: ProviderFile | undefined;
  readonly #logger: SpokeLogger;
  #isFileValid = true;
  #hubError: unknown;

  constructor(options: SpokesOptions, providers: ProviderFile | undefined) {
    const { hub, providerFile } = options;
    this.#options = options;
    this.#logger = new SpokeLogger(options.log);
    const onSharedToken = (spoke: string, others: readonly string[]): void =>
      this.#logger.logSharedToken(spoke, others);
    const limits = {
      plugins: this.#plugins,
      turns: new ConnectTurns(),
      answers: new AnswerBudget(),
    };
    this.#deps = { ...options, ...limits, onSharedToken };
    this.#providers = providers;
    // Without a provider file no spoke can be reached, and the hub needs no ClusterProfiles at all.
    if (providerFile === undefined || providers === undefined) return;
    this.#logger.logProviders(providers);
    this.#plugins.follow(providers);
    options.path?.providerFileIs(true);
    this.#profiles = new Reflector(
      {
        client: new ServedProfiles(hub),
        ref: { resource: knownResource(clusterProfileApiVersion, "ClusterProfile") },
        keep: withoutManagedFields,
        maxBackoffMs,
      },
      {
        onChange: (object) => this.#onProfile(object),
        onDelete: (object) => this.#onProfileGone(object),
        onError: (error) => this.#onHubError(error),
        onSynced: () => void (this.#hubError = undefined),
      },
      this.#stop.signal,
    );
    const watch = {
      known: providers,
      onChange: (file: ProviderFile) => this.#onProviders(file),
      onInvalid: (error: unknown) => {
        this.#options.log?.warn(factsOf(error), "Kept the last good provider file");
        this.#fileIs(false);
      },
      onValid: () => this.#fileIs(true),
    };
    // Ends when the fleet is disposed.
    void watchProviderFile(providerFile, watch, this.#stop.signal);
  }

  async acquire(ref: ClusterProfileRef, signal: AbortSignal): Promise<SpokeConnection> {
    signal.throwIfAborted();
    if (this.#stop.signal.aborted) throw closed();
    if (this.#profiles === undefined) throw notConfigured();
    await this.#synced(this.#profiles, signal);
    const key = reflectorKey(ref);
    this.#keep(key);
    const outlook = this.#outlooks.get(key);
    if (outlook === undefined) {
      const name = describe({ kind: "ClusterProfile", ...ref });
      throw new FleetError("ClusterProfileNotFound", `${name} does not exist`);
    }
    return this.#keeperOf(ref, outlook).acquire(signal);
  }

  onChange(listener: (ref: ClusterProfileRef) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  state(ref: ClusterProfileRef): SpokeState | undefined {
    return this.#keepers.get(reflectorKey(ref))?.state;
  }

  release(ref: ClusterProfileRef): void {
    const key = reflectorKey(ref);
    if (!this.#keepers.has(key)) return;
    this.#keep(key);
    const close = (): void => {
      this.#logger.logRelease(key);
      this.#end(key, new FleetError("RemoteClusterStale", "No component is for the cluster"));
    };
    const { releaseMs = usualReleaseMs } = this.#options;
    this.#released.set(key, setTimeout(close, releaseMs).unref());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(closed());
    this.#listeners.clear();
    for (const key of this.#released.keys()) this.#keep(key);
    const keepers = [...this.#keepers.values()];
    for (const key of this.#keepers.keys()) this.#options.path?.spokeGone(key);
    this.#keepers.clear();
    await Promise.all(keepers.map((keeper) => keeper.close(closed())));
  }

  #keeperOf({ namespace, name }: ClusterProfileRef, outlook: Outlook): SpokeKeeper {
    const ref = { namespace, name };
    const key = reflectorKey(ref);
    const known = this.#keepers.get(key);
    if (known !== undefined) return known;
    const keeper: SpokeKeeper = new SpokeKeeper(outlook, this.#deps, () => {
      this.#tellState(ref);
      // Who waits for the attempt hears of its end, and who does not wait has nothing to do before.
      if (this.state(ref)?.kind !== "connecting") this.#notify(ref);
    });
    this.#keepers.set(key, keeper);
    this.#options.path?.spokeIs(key, keeper.state.kind);
    return keeper;
  }

  async #synced(profiles: Reflector, signal: AbortSignal): Promise<void> {
    const synced = (): boolean => profiles.isSynced;
    if (synced()) return;
    if (this.#hubError === undefined) {
      const late = AbortSignal.any([signal, AbortSignal.timeout(syncTimeoutMs)]);
      await abortable(profiles.synced, late).catch(() => undefined);
      signal.throwIfAborted();
    }
    if (synced()) return;
    throw new FleetError("ClusterProfileUnavailable", "ClusterProfiles cannot be read on the hub", {
      cause: this.#hubError,
    });
  }

  #onProfile(object: KubeObject): void {
    if (!isClusterProfile(object)) return;
    const { namespace, name } = object.metadata;
    const key = reflectorKey(object.metadata);
    const before = this.#outlooks.get(key);
    const startMs = performance.now();
    const found = outlookOf(object, { ...this.#options, providers: this.#providers });
    const times = { startMs, endMs: performance.now() };
    const outlook = withFileNote({ ...found, resolved: times }, this.#isFileValid);
    if (before !== undefined && sameOutlook(before, outlook)) return;
    this.#outlooks.set(key, outlook);
    if (outlook.kind === "access") this.#logger.logAccess(outlook.access);
    this.#reportFailure({ namespace, name }, outlook);
    this.#keepers.get(key)?.update(outlook);
    this.#notify({ namespace, name });
  }

  #onProfileGone(object: KubeObject): void {
    const { namespace = "", name } = object.metadata;
    const ref = { namespace, name };
    const key = reflectorKey(ref);
    this.#outlooks.delete(key);
    this.#logger.forget(object);
    // The words of `acquire`: one fact, one message.
    const gone = `${describe({ kind: "ClusterProfile", ...ref })} does not exist`;
    this.#end(key, new FleetError("ClusterProfileNotFound", gone));
    this.#notify(ref);
  }

  #end(key: string, error: FleetError): void {
    this.#keep(key);
    const keeper = this.#keepers.get(key);
    this.#keepers.delete(key);
    this.#options.path?.spokeGone(key);
    // Not awaited: the signal of the connection tells its users.
    void keeper?.close(error);
  }

  #keep(key: string): void {
    clearTimeout(this.#released.get(key));
    this.#released.delete(key);
  }

  #onProviders(file: ProviderFile): void {
    this.#providers = file;
    this.#options.log?.info({ providers: file.providers.length }, "Loaded the provider file");
    this.#logger.logProviders(file);
    // A connection that stays as it is would not hear of it.
    this.#plugins.follow(file);
    for (const object of this.#profiles?.values() ?? []) this.#onProfile(object);
  }

  /** Says whether the file on disk is the one in use, where a profile cannot be reached with the one in use. */
  #fileIs(isValid: boolean): void {
    this.#options.path?.providerFileIs(isValid);
    if (this.#isFileValid === isValid) return;
    this.#isFileValid = isValid;
    for (const object of this.#profiles?.values() ?? []) this.#onProfile(object);
  }

  #onHubError(error: unknown): void {
    const first = this.#hubError === undefined;
    this.#hubError = error;
    // This process has released the Lease and is about to end.
    if (error instanceof WriteRefusedError) return;
    if (first) this.#options.log?.warn(factsOf(error), "Cannot watch ClusterProfiles");
  }

  /** A ClusterProfile without access has no attempt that would report this step. */
  #reportFailure(ref: ClusterProfileRef, outlook: Outlook): void {
    if (outlook.kind !== "error" || outlook.resolved === undefined) return;
    this.#options.onStep?.(failedResolve(ref, outlook.resolved, outlook.error));
  }

  #tellState(ref: ClusterProfileRef): void {
    const state = this.state(ref);
    if (state === undefined) return;
    const spoke = `${ref.namespace}/${ref.name}`;
    this.#options.path?.spokeIs(spoke, state.kind);
    this.#logger.logState(spoke, state);
  }

  #notify(ref: ClusterProfileRef): void {
    for (const listener of this.#listeners) listener(ref);
  }
}

// The API server has checked it against the CRD.
function isClusterProfile(object: KubeObject): object is ClusterProfile {
  return object.kind === "ClusterProfile" && object.metadata.namespace !== undefined;
}

// Not the error itself: its cause may hold what a server or a plugin said.
function factsOf(error: unknown): object {
  return { error: error instanceof Error ? error.message : "unknown" };
}

function closed(): FleetError {
  return new FleetError("ClusterProviderClosed", "The connections to spokes are being closed");
}
