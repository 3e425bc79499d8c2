import { type Kept } from "../../access/kube/kept-objects.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { ServedKind } from "../../access/kube/profile-versions.ts";
import { KeepingReflector } from "../../access/kube/reflector.ts";
import { logWatchBug } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import {
  type ClusterProfile,
  clusterProfileApiVersion,
  isClusterProfile,
} from "../../api/cluster-profile.ts";
import { nameId } from "../../api/keys.ts";
import { type KubeObject, withoutManagedFields } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import type { Log } from "../log.ts";
import { clusterApiVersions, sourceOfCluster } from "./cluster-api-source.ts";
import { secretSelector, sourcesOfSecret } from "./secret-source.ts";
import type { DiscoverySettings, Producer, Source } from "./source.ts";

interface SourceCachesOptions {
  readonly clock: Clock;
  readonly hub: Pick<KubeClient, "list" | "watch">;
  readonly settings: DiscoverySettings;
  readonly log: Log;
  /** Sources or profiles changed, so that other names or other sources may be due. */
  readonly onChange: () => void;
  /** One profile changed. */
  readonly onProfile: (key: string) => void;
}

/** An object on the hub, of which only its sources are kept: a credential never stays in memory. */
interface SourceItem extends Kept {
  readonly sources: readonly Source[];
}

type Keeper = (object: KubeObject) => SourceItem;
type SourceReflector = KeepingReflector<SourceItem>;

/** The sources and ClusterProfiles of the hub, which watches keep up to date. */
export class SourceCaches implements Disposable {
  readonly #options: SourceCachesOptions;
  readonly #signal: AbortSignal;
  readonly #profiles = new Map<string, ClusterProfile>();
  readonly #profileKind: ServedKind;
  readonly #profileReflector: Disposable & { readonly isSynced: boolean };
  readonly #reflectors: ReadonlyMap<Producer, readonly SourceReflector[]>;

  constructor(options: SourceCachesOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#profileKind = new ServedKind(options.hub);
    this.#profileReflector = this.#watchProfiles();
    this.#reflectors = new Map(
      options.settings.producers.map((producer) => [producer, this.#watchSources(producer)]),
    );
  }

  /** By `namespace/name`. */
  get profiles(): ReadonlyMap<string, ClusterProfile> {
    return this.#profiles;
  }

  /** Whether the profiles are known. Nothing may be written before. */
  get hasProfiles(): boolean {
    return this.#profileReflector.isSynced;
  }

  /** API version of ClusterProfile to write. */
  get profileVersion(): string {
    return this.#profileKind.apiVersion;
  }

  sources(): readonly Source[] {
    return [...this.#reflectors.values()]
      .flat()
      .flatMap((reflector) => [...reflector.values()].flatMap(({ sources }) => sources));
  }

  /** The producers whose sources were listed in all their namespaces. */
  complete(): readonly Producer[] {
    return [...this.#reflectors]
      .filter(([, reflectors]) => reflectors.every(({ isSynced }) => isSynced))
      .map(([producer]) => producer);
  }

  /** Keeps a profile as it was just written, until the watch shows it. */
  noteWritten(profile: KubeObject): void {
    const kept = withoutManagedFields(profile);
    if (isClusterProfile(kept)) this.#profiles.set(nameId(kept.metadata), kept);
  }

  [Symbol.dispose](): void {
    this.#profileReflector[Symbol.dispose]();
    for (const reflector of [...this.#reflectors.values()].flat()) reflector[Symbol.dispose]();
  }

  #watchProfiles(): Disposable & { readonly isSynced: boolean } {
    const { clock, onChange, onProfile } = this.#options;
    const ref = { resource: knownResource(clusterProfileApiVersion, "ClusterProfile") };
    return new KeepingReflector<KubeObject>(
      { client: this.#profileKind, clock, ref, keep: withoutManagedFields },
      {
        onChange: (profile, before) => {
          if (!isClusterProfile(profile)) return;
          const key = nameId(profile.metadata);
          this.#profiles.set(key, profile);
          // Who has a name depends on the profile alone, and a profile never changes its manager.
          if (before === undefined) onChange();
          else onProfile(key);
        },
        onDelete: ({ metadata }) => {
          const key = nameId(metadata);
          this.#profiles.delete(key);
          // The plan for its name may be the same.
          onProfile(key);
          onChange();
        },
        onSynced: onChange,
        onError: (err) => this.#warn(err, "ClusterProfile"),
        onBug: logWatchBug(this.#options.log, "ClusterProfile"),
      },
      this.#signal,
    );
  }

  #watchSources(producer: Producer): readonly SourceReflector[] {
    const { clock, settings, hub } = this.#options;
    const { selector } = settings;
    if (producer === "kubeconfig-secrets") {
      const resource = knownResource("v1", "Secret");
      const keep = keeperOf((secret) => sourcesOfSecret(secret, settings, clock.date().getTime()));
      return this.#watchIn(hub, { resource, selector: secretSelector(settings), keep });
    }
    if (producer === "cluster-api") {
      const [newest, ...older] = clusterApiVersions;
      const resource = knownResource(newest, "Cluster");
      const versions = [resource, ...older.map((version) => knownResource(version, "Cluster"))];
      const keep = keeperOf((cluster) => [sourceOfCluster(cluster)]);
      return this.#watchIn(new ServedKind(hub, versions), { resource, selector, keep });
    }
    // The profiles of `register` are their own sources.
    return [];
  }

  /** One watch in each namespace of the sources, or one for all namespaces. */
  #watchIn(
    client: Pick<KubeClient, "list" | "watch">,
    watched: {
      readonly resource: ResourceType;
      readonly selector: string;
      readonly keep: Keeper;
    },
  ): readonly SourceReflector[] {
    const { sourceNamespaces } = this.#options.settings;
    const namespaces = sourceNamespaces.length === 0 ? [undefined] : [...new Set(sourceNamespaces)];
    const { resource, selector, keep } = watched;
    return namespaces.map((namespace) => {
      const { clock, onChange } = this.#options;
      const ref = {
        resource,
        ...(namespace === undefined ? {} : { namespace }),
        ...(selector === "" ? {} : { labelSelector: selector }),
      };
      return new KeepingReflector<SourceItem>(
        { client, clock, ref, keep },
        {
          onChange,
          onDelete: onChange,
          onSynced: onChange,
          onError: (err) => this.#warn(err, resource.kind),
          onBug: logWatchBug(this.#options.log, resource.kind),
        },
        this.#signal,
      );
    });
  }

  #warn(err: unknown, kind: string): void {
    this.#options.log.warn({ kind, err }, "Cannot watch what discovery needs");
  }
}

function keeperOf(sourcesOf: (object: KubeObject) => readonly Source[]): Keeper {
  return (object) => {
    const { uid, resourceVersion } = object.metadata;
    return { metadata: { uid, resourceVersion }, sources: sourcesOf(object) };
  };
}
