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
import { WriteRefusedError } from "../http/write-permit.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { ServedKind } from "../kube/profile-versions.ts";
import { Reflector } from "../kube/reflector.ts";
import type { PluginLimits } from "../plugins/plugin-limits.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import { watchProviderFile } from "../providers/provider-file.ts";
import type { ReferencePolicy } from "../providers/reference-policy.ts";
import { abortable, withTimeout } from "../time/deadline.ts";
import { failedResolve } from "./attempt-steps.ts";
import {
  type AccessOutcome,
  accessOutcomeOf,
  isSameOutcome,
  withFileNote,
} from "./resolved-access.ts";
import type { SpokeDeps } from "./spoke-deps.ts";
import type { SpokeLog, SpokeLogger } from "./spoke-logger.ts";
import type { WantedSpoke } from "./spokes.ts";

interface ProfilesOptions extends Pick<SpokeDeps, "clock" | "path" | "onStep"> {
  readonly hub: Pick<KubeClient, "get" | "list" | "watch">;
  readonly log?: SpokeLog;
  /** Managers whose profiles are trusted. Absent: all. */
  readonly trust?: Pick<ReferencePolicy, "trustedManagers">;
  /** The provider file to follow. Undefined: there is none. */
  readonly place: Parameters<typeof watchProviderFile>[0] | undefined;
  readonly plugins: PluginLimits;
  readonly logger: SpokeLogger;
}

interface ProfilesHandlers {
  /** The access to a cluster is another one now. */
  readonly onOutcome: (ref: ClusterProfileRef, outcome: AccessOutcome) => void;
  /** A ClusterProfile is being deleted from now on. Its access stays as it is. */
  readonly onLeaving: (ref: ClusterProfileRef) => void;
  readonly onGone: (ref: ClusterProfileRef, error: FleetError) => void;
}

const syncTimeoutMs = 10_000;
const maxBackoffMs = 10_000;

/** Follows the ClusterProfiles on the hub and the provider file until the signal aborts, and resolves how to reach each cluster. */
export class SpokeProfiles {
  readonly #options: ProfilesOptions;
  readonly #handlers: ProfilesHandlers;
  /** By `nameId`. */
  readonly #outcomes = new Map<string, AccessOutcome>();
  /** Why profiles are not ready that are being deleted. */
  readonly #leaving = new Map<string, string>();
  readonly #reflector: Reflector;
  #providers: ProviderFile;
  #isFileValid = true;
  #hubError: unknown;

  constructor(
    options: ProfilesOptions,
    providers: ProviderFile,
    handlers: ProfilesHandlers,
    signal: AbortSignal,
  ) {
    const { clock, hub, log, place } = options;
    this.#options = options;
    this.#handlers = handlers;
    this.#providers = providers;
    options.logger.logProviders(providers);
    options.plugins.follow(providers);
    options.path?.setProviderFileValid(true);
    this.#reflector = new Reflector(
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
        onBug: (err) => log?.error({ kind: "ClusterProfile", err }, "A watch has a bug"),
        onSynced: () => void (this.#hubError = undefined),
      },
      signal,
    );
    if (place === undefined) return;
    const watch = {
      clock,
      known: providers,
      onChange: (file: ProviderFile) => this.#onProviders(file),
      onInvalid: (error: unknown) => {
        log?.warn(factsOf(error), "Kept the last good provider file");
        this.#setFileValid(false);
      },
      onValid: () => this.#setFileValid(true),
    };
    // Ends with the signal.
    void watchProviderFile(place, watch, signal);
  }

  /** Waits until the ClusterProfiles were read once. Throws FleetError `ClusterProfileUnavailable`. */
  async ready(signal: AbortSignal): Promise<void> {
    const isSynced = (): boolean => this.#reflector.isSynced;
    if (isSynced()) return;
    if (this.#hubError === undefined) {
      const late = withTimeout(this.#options.clock, syncTimeoutMs, signal);
      await abortable(this.#reflector.synced, late).catch(() => undefined);
      signal.throwIfAborted();
    }
    if (isSynced()) return;
    throw new FleetError("ClusterProfileUnavailable", "ClusterProfiles cannot be read on the hub", {
      cause: this.#hubError,
    });
  }

  /** Throws FleetError `ClusterProfileNotFound`, and `ClusterProfileNotReady` for one that is being deleted, unless for a removal. */
  outcomeOf({ isRemoval = false, ...ref }: WantedSpoke): AccessOutcome {
    const key = nameId(ref);
    const outcome = this.#outcomes.get(key);
    if (outcome === undefined) throw missing(ref);
    const leaving = this.#leaving.get(key);
    if (leaving !== undefined && !isRemoval)
      throw new FleetError("ClusterProfileNotReady", leaving);
    return outcome;
  }

  #onProfile(object: KubeObject): void {
    if (!isClusterProfile(object)) return;
    const { namespace, name } = object.metadata;
    const ref = { namespace, name };
    const key = nameId(ref);
    const before = this.#outcomes.get(key);
    const { clock, logger } = this.#options;
    const startMs = clock.now();
    const resolved = accessOutcomeOf(object, { ...this.#options, providers: this.#providers });
    const timed = { ...resolved, resolved: { startMs, endMs: clock.now() } };
    const outcome = withFileNote(timed, this.#isFileValid);
    const isLeaving = this.#noteLeaving(key, object);
    if (before !== undefined && isSameOutcome(before, outcome)) {
      if (isLeaving) this.#handlers.onLeaving(ref);
      return;
    }
    this.#outcomes.set(key, outcome);
    if (outcome.kind === "access") logger.logAccess(outcome.access);
    // A ClusterProfile without access has no attempt that would report this step.
    else this.#options.onStep?.(failedResolve(ref, timed.resolved, outcome.error));
    this.#handlers.onOutcome(ref, outcome);
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
    const ref = { namespace, name };
    this.#outcomes.delete(nameId(ref));
    this.#leaving.delete(nameId(ref));
    this.#options.logger.forget(object);
    this.#handlers.onGone(ref, missing(ref));
  }

  #onProviders(file: ProviderFile): void {
    this.#providers = file;
    this.#options.log?.info({ providers: file.providers.length }, "Loaded the provider file");
    this.#options.logger.logProviders(file);
    // Connections that stay need the new limits, too.
    this.#options.plugins.follow(file);
    for (const object of this.#reflector.values()) this.#onProfile(object);
  }

  /** Notes whether the file on disk is valid. Errors of profiles say when an older file is in use. */
  #setFileValid(isValid: boolean): void {
    this.#options.path?.setProviderFileValid(isValid);
    if (this.#isFileValid === isValid) return;
    this.#isFileValid = isValid;
    for (const object of this.#reflector.values()) this.#onProfile(object);
  }

  #onHubError(error: unknown): void {
    const isFirst = this.#hubError === undefined;
    this.#hubError = error;
    // This process has released the Lease and is about to end.
    if (error instanceof WriteRefusedError) return;
    if (isFirst) this.#options.log?.warn(factsOf(error), "Cannot watch ClusterProfiles");
  }
}

function missing(ref: ClusterProfileRef): FleetError {
  const name = describe({ kind: "ClusterProfile", namespace: ref.namespace, name: ref.name });
  return new FleetError("ClusterProfileNotFound", `${name} does not exist`);
}

// Without the cause, which may hold text of a server or plugin.
function factsOf(error: unknown): object {
  return { error: error instanceof Error ? error.message : "unknown" };
}
