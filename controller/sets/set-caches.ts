import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { ServedKind } from "../../access/kube/profile-versions.ts";
import { Reflector, type ReflectorHandlers } from "../../access/kube/reflector.ts";
import { logWatchBug } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import {
  type ClusterProfile,
  clusterProfileApiVersion,
  healthConditions,
  isClusterProfile,
} from "../../api/cluster-profile.ts";
import { isRecord, isSameJson, listAt, recordAt } from "../../api/fields.ts";
import {
  type FleetSet,
  fleetSetApiVersion,
  type FleetSetKind,
  fleetSetKinds,
  setLabels,
} from "../../api/fleet-set.ts";
import { nameId, ownerSetId, setId } from "../../api/keys.ts";
import { type KubeObject, withoutManagedFields } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { Log } from "../log.ts";
import { asDeleted } from "./deleted-set.ts";
import { type PlacementSource, placementKinds } from "./find-selection.ts";
import { IndexedObjects } from "./indexed-objects.ts";

export interface SetCachesOptions {
  readonly client: Pick<KubeClient, "watch" | "list">;
  readonly clock: Clock;
  readonly log: Log;
  /** A set is new or changed. */
  readonly onSet: (set: FleetSet, before: FleetSet | undefined) => void;
  readonly onSetGone: (set: FleetSet) => void;
  /** A set is being deleted, and its components stay although its spec says that they go. */
  readonly onPolicyIgnored: (set: FleetSet) => void;
  /** A revision of the set with this key was changed or deleted. */
  readonly onRevision: (setKey: string) => void;
  /** A field of a ClusterProfile that sets use has changed. Undefined: the profile is gone. */
  readonly onProfile: (cluster: string, profile: ClusterProfile | undefined) => void;
  /** PlacementDecisions were listed or changed. */
  readonly onPlacements: (source: PlacementSource) => void;
}

/** Placements that cannot be listed hold the sets up for this time at most. */
const listingMs = 60_000;

interface Placements {
  readonly reflector: Reflector;
  /** Resolves when they have been listed, or are not waited for any more. */
  readonly settled: Promise<void>;
}

function groupsOfRevision(object: KubeObject): readonly string[] {
  const owner = ownerSetId(object);
  return owner === undefined ? [] : [owner];
}

/** Caches of the sets, ControllerRevisions, ClusterProfiles and placements of the hub, which watches keep up to date. */
export class SetCaches implements Disposable {
  readonly #options: SetCachesOptions;
  readonly #signal: AbortSignal;
  readonly #stack = new DisposableStack();
  readonly #sets = new Map<string, FleetSet>();
  readonly #revisions: IndexedObjects<KubeObject>;
  readonly #profiles = new Map<string, ClusterProfile>();
  readonly #placements = new Map<PlacementSource, Placements>();
  readonly #synced: readonly Promise<void>[];

  constructor(options: SetCachesOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    const kinds = Object.keys(fleetSetKinds).filter(isSetKind);
    const sets = kinds.map((kind) => this.#watchSets(kind));
    this.#revisions = new IndexedObjects(options.clock, groupsOfRevision);
    const all = [...sets, this.#watchRevisions(), this.#watchProfiles()];
    for (const reflector of all) this.#stack.use(reflector);
    this.#synced = all.map((reflector) => reflector.synced);
  }

  /**
   * Resolves when sets, revisions, ClusterProfiles and the placements that sets use have been listed. It does not wait for placements that the hub does not serve
   * or refuses, nor longer than a minute for others. Rejects when the caches are disposed before.
   */
  async synced(): Promise<void> {
    await Promise.all(this.#synced);
    await Promise.all([...this.#placements.values()].map(({ settled }) => settled));
  }

  get sets(): ReadonlyMap<string, FleetSet> {
    return this.#sets;
  }

  /** By the key of their set. */
  get revisions(): IndexedObjects<KubeObject> {
    return this.#revisions;
  }

  profiles(): Iterable<ClusterProfile> {
    return this.#profiles.values();
  }

  /** By `namespace/name`. */
  get profilesByKey(): ReadonlyMap<string, ClusterProfile> {
    return this.#profiles;
  }

  /** The PlacementDecisions of one kind; undefined until they have been listed. The first call starts the watch. */
  placements(source: PlacementSource): Iterable<KubeObject> | undefined {
    const { reflector } = this.#placementsOf(source);
    return reflector.isSynced ? reflector.values() : undefined;
  }

  [Symbol.dispose](): void {
    this.#stack[Symbol.dispose]();
  }

  #watchSets(kind: FleetSetKind): Reflector {
    const ref = { resource: knownResource(fleetSetApiVersion, kind) };
    const changed = (object: KubeObject): void => {
      if (!isFleetSet(object)) return;
      const key = setId(object);
      const before = this.#sets.get(key);
      const set = asDeleted(object, before);
      const isFirst = before?.metadata.deletionTimestamp === undefined;
      const isKept = set.spec.deletionPolicy !== object.spec.deletionPolicy;
      if (isFirst && isKept) this.#options.onPolicyIgnored(set);
      this.#sets.set(key, set);
      const { from } = set.spec.clusters;
      // The first set that uses a kind of placement has it listed.
      if (from !== "Selector") this.#placementsOf(from);
      this.#options.onSet(set, before);
    };
    const gone = (object: KubeObject): void => {
      const set = this.#sets.get(setId(object));
      this.#sets.delete(setId(object));
      if (set !== undefined) this.#options.onSetGone(set);
    };
    return this.#reflector(ref, { onChange: changed, onDelete: gone });
  }

  #watchRevisions(): Reflector {
    const resource = knownResource("apps/v1", "ControllerRevision");
    const changed = (object: KubeObject): void => {
      for (const key of groupsOfRevision(object)) this.#options.onRevision(key);
    };
    const ref = { resource, labelSelector: setLabels.set };
    return this.#reflector(ref, {
      onChange: (object) => {
        this.#revisions.see(nameId(object.metadata), object);
        changed(object);
      },
      onDelete: (object) => {
        this.#revisions.delete(nameId(object.metadata));
        changed(object);
      },
    });
  }

  #watchProfiles(): Reflector {
    const { clock } = this.#options;
    const client = new ServedKind(this.#options.client);
    const ref = { resource: knownResource(clusterProfileApiVersion, "ClusterProfile") };
    return new Reflector(
      { client, clock, ref, keep: whatCountsOf },
      {
        onChange: (profile, before) => {
          if (!isClusterProfile(profile)) return;
          const key = nameId(profile.metadata);
          this.#profiles.set(key, profile);
          const isNews = before === undefined || !isSameForSets(profile, before);
          if (isNews) this.#options.onProfile(key, profile);
        },
        onDelete: ({ metadata }) => {
          const key = nameId(metadata);
          this.#profiles.delete(key);
          this.#options.onProfile(key, undefined);
        },
        onError: (err) => this.#warn(err, "ClusterProfile"),
        onBug: logWatchBug(this.#options.log, "ClusterProfile"),
      },
      this.#signal,
    );
  }

  #placementsOf(source: PlacementSource): Placements {
    const known = this.#placements.get(source) ?? this.#watchPlacements(source);
    this.#placements.set(source, known);
    return known;
  }

  #watchPlacements(source: PlacementSource): Placements {
    const { apiVersion, kind } = placementKinds[source];
    const changed = (): void => {
      // Before that, no set knows its clusters.
      if (reflector.isSynced) this.#options.onPlacements(source);
    };
    const ref = { resource: knownResource(apiVersion, kind) };
    const { promise: givenUp, resolve: giveUp } = Promise.withResolvers<void>();
    const failed = (err: unknown): void => {
      this.#warn(err, kind);
      if (err instanceof ApiError && (err.status === 403 || err.status === 404)) giveUp();
    };
    const handlers = { onChange: changed, onDelete: changed, onSynced: changed, onError: failed };
    const reflector = this.#stack.use(this.#reflector(ref, handlers));
    this.#stack.use(this.#options.clock.after(listingMs, giveUp));
    const ended = reflector.synced.catch(() => undefined);
    return { reflector, settled: Promise.race([ended, givenUp]) };
  }

  #reflector(
    ref: ConstructorParameters<typeof Reflector>[0]["ref"],
    handlers: Omit<ReflectorHandlers, "onBug">,
  ): Reflector {
    const { client, clock } = this.#options;
    const onError = (err: unknown): void => this.#warn(err, ref.resource.kind);
    const options = { client, clock, ref, keep: withoutManagedFields };
    const onBug = logWatchBug(this.#options.log, ref.resource.kind);
    return new Reflector(options, { onError, ...handlers, onBug }, this.#signal);
  }

  #warn(err: unknown, kind: string): void {
    this.#options.log.warn({ kind, err }, "Cannot watch what fleet sets need");
  }
}

function isSetKind(kind: string): kind is FleetSetKind {
  return kind in fleetSetKinds;
}

/** Narrows an object to a FleetSet. Its fields are not checked, because the API server has checked them against the CRD. */
export function isFleetSet(object: KubeObject): object is FleetSet {
  return isSetKind(object.kind) && object.metadata.namespace !== undefined;
}

/** The part of a ClusterProfile that sets use. Cluster managers may write the other fields every minute. */
function whatCountsOf(object: KubeObject): KubeObject {
  const { namespace = "", name, uid, resourceVersion, labels = {} } = object.metadata;
  const { creationTimestamp } = object.metadata;
  const status = recordAt(object, "status");
  const { properties = [] } = status;
  const conditions = listAt(status, "conditions").filter(isRecord);
  const deciding = healthConditions
    .map((wanted) => conditions.find(({ type }) => type === wanted))
    .find((one) => one !== undefined);
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      namespace,
      name,
      uid,
      resourceVersion,
      labels,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    spec: object["spec"],
    status: { properties, conditions: deciding === undefined ? [] : [statusOnly(deciding)] },
  };
}

/** A condition without its times, which change with every heartbeat. */
function statusOnly({ type, status }: Readonly<Record<string, unknown>>): object {
  return { type, status };
}

function isSameForSets(one: KubeObject, other: KubeObject): boolean {
  return (
    one.metadata.uid === other.metadata.uid &&
    isSameJson(one.metadata.labels, other.metadata.labels) &&
    isSameJson(one["spec"], other["spec"]) &&
    isSameJson(one["status"], other["status"])
  );
}
