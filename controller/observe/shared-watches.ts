import { reflectorKey } from "../../access/kube/kept-objects.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { KeepingReflector, type Listing } from "../../access/kube/reflector.ts";
import { isRecord } from "../../api/fields.ts";
import { type KubeObject, type ObjectKey, withoutManagedFields } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import {
  componentUidLabel,
  definitionLabel,
  componentsSelector,
} from "../../installation/anchor.ts";
import { type ObservedObject, sightingOf } from "../../installation/observed-object.ts";
import { isWorkload } from "../../installation/readiness.ts";

/** What is kept of an object. */
export interface Sighted {
  readonly metadata: ObservedObject;
  /** Uid of its component, as its label says. */
  readonly owner: string | undefined;
  /** Of a workload: without its managedFields and what is most of it and tells nothing of how it is doing. */
  readonly workload?: KubeObject;
}

/** What is told of the objects of one kind and component; see reflector.ts. */
export interface SharedWatchHandlers {
  readonly onObject: (object: Sighted) => void;
  readonly onGone: (object: Sighted) => void;
  readonly onListed: (listing: Listing) => void;
  readonly onInterrupted: () => void;
  readonly onError: (error: unknown) => void;
}

type Watching = Pick<KubeClient, "watch" | "list">;

/** The watches that the components of one process share, over each of its clients. */
export class WatchSharing {
  readonly #byClient = new WeakMap<Watching, SharedWatches>();

  /** Those over one client, which are always asked for with the same field manager. */
  over(client: Watching, fieldManager: string): SharedWatches {
    const known = this.#byClient.get(client);
    if (known !== undefined) return known;
    const watches = new SharedWatches(client, fieldManager);
    this.#byClient.set(client, watches);
    return watches;
  }
}

/**
 * The watches of the components on one cluster: one watch a kind, however many components there are, because each costs some 12 kB here and
 * a share of the API server there. Who begins to watch a kind has it listed anew.
 */
export class SharedWatches {
  readonly #client: Watching;
  readonly #fieldManager: string;
  readonly #kinds = new Map<string, SharedKind>();

  constructor(client: Watching, fieldManager: string) {
    this.#client = client;
    this.#fieldManager = fieldManager;
  }

  /** Watches one kind for one component until the answer is disposed. */
  subscribe(
    { resource, componentUid, after }: Wanted,
    handlers: SharedWatchHandlers,
  ): KindSubscription {
    const id = `${resource.apiVersion}/${resource.plural}`;
    const kind =
      this.#kinds.get(id) ??
      new SharedKind({
        client: this.#client,
        resource,
        fieldManager: this.#fieldManager,
        onUnused: () => this.#kinds.delete(id),
      });
    const subscription = kind.join({ componentUid, handlers }, after);
    this.#kinds.set(id, kind);
    return subscription;
  }
}

interface Wanted {
  readonly resource: ResourceType;
  readonly componentUid: string;
  /** The version of the kind that was known before, empty for none; what is earlier is an older state that was restored. */
  readonly after: string;
}

interface Subscriber {
  /** By which its objects are told from those of others. */
  readonly componentUid: string;
  readonly handlers: SharedWatchHandlers;
}

/** What one component sees of a kind. */
export class KindSubscription implements Disposable {
  readonly #subscriber: Subscriber;
  readonly #kind: SharedKind;
  /** What others have seen before is not told until the list is there that was begun for this one. */
  #isTold: boolean;

  constructor(kind: SharedKind, subscriber: Subscriber, isTold: boolean) {
    this.#kind = kind;
    this.#subscriber = subscriber;
    this.#isTold = isTold;
  }

  get componentUid(): string {
    return this.#subscriber.componentUid;
  }

  /** The last version of the kind that is known; empty when there is none. */
  get version(): string {
    return this.#kind.version;
  }

  /** Tries at once when the last attempt failed, but not before the time that the server asked for. */
  hasten(): void {
    this.#kind.hasten();
  }

  has(key: ObjectKey): boolean {
    const object = this.#isTold ? this.#kind.get(reflectorKey(key)) : undefined;
    return object !== undefined && this.#sees(object);
  }

  *objects(): Iterable<Sighted> {
    if (!this.#isTold) return;
    for (const object of this.#kind.objects()) if (this.#sees(object)) yield object;
  }

  [Symbol.dispose](): void {
    this.#kind.leave(this);
  }

  changed(object: Sighted, before: Sighted | undefined): void {
    if (!this.#isTold) return;
    if (this.#sees(object)) this.#subscriber.handlers.onObject(object);
    else if (before !== undefined && this.#sees(before)) this.#subscriber.handlers.onGone(object);
  }

  deleted(object: Sighted): void {
    if (this.#isTold && this.#sees(object)) this.#subscriber.handlers.onGone(object);
  }

  failed(error: unknown): void {
    this.#subscriber.handlers.onError(error);
  }

  interrupted(): void {
    this.#subscriber.handlers.onInterrupted();
  }

  listed(listing: Listing): void {
    const { handlers } = this.#subscriber;
    if (!this.#isTold) {
      this.#isTold = true;
      for (const object of this.objects()) handlers.onObject(object);
    }
    handlers.onListed(listing);
  }

  #sees({ owner }: Sighted): boolean {
    return this.#kind.isOfAll || owner === this.componentUid;
  }
}

interface SharedKindOptions {
  readonly client: Watching;
  readonly resource: ResourceType;
  readonly fieldManager: string;
  /** Nobody watches it any more, and it has ended. */
  readonly onUnused: () => unknown;
}

class SharedKind {
  /** CRDs outlive their installation and may serve two: they carry a label that belongs to none. */
  readonly isOfAll: boolean;
  readonly #options: SharedKindOptions;
  readonly #subscriptions = new Set<KindSubscription>();
  /** With another selector for who joins; a watch that goes on has to have the one that it began with. */
  readonly #ref: { readonly resource: ResourceType; labelSelector: string };
  /** Runs while there are subscriptions. */
  #reflector: KeepingReflector<Sighted> | undefined;

  constructor(options: SharedKindOptions) {
    const { resource } = options;
    this.#options = options;
    this.isOfAll = resource.kind === "CustomResourceDefinition";
    this.#ref = { resource, labelSelector: "" };
  }

  join(subscriber: Subscriber, after: string): KindSubscription {
    this.#ref.labelSelector = this.#selectorWith(subscriber);
    const subscription = new KindSubscription(this, subscriber, this.#reflector === undefined);
    this.#subscriptions.add(subscription);
    if (this.#reflector === undefined) this.#reflector = this.#watched(after);
    // It is told through the handlers.
    else this.#reflector.refresh().catch(() => undefined);
    return subscription;
  }

  leave(subscription: KindSubscription): void {
    if (!this.#subscriptions.delete(subscription) || this.#subscriptions.size > 0) return;
    this.#reflector?.[Symbol.dispose]();
    this.#options.onUnused();
  }

  hasten(): void {
    this.#reflector?.hasten();
  }

  get version(): string {
    return this.#reflector?.lastVersion ?? "";
  }

  get(key: string): Sighted | undefined {
    return this.#reflector?.get(key);
  }

  objects(): Iterable<Sighted> {
    return this.#reflector?.values() ?? [];
  }

  #watched(after: string): KeepingReflector<Sighted> {
    const { client, resource, fieldManager } = this.#options;
    return new KeepingReflector(
      {
        client,
        ref: this.#ref,
        metadataOnly: !isWorkload(resource),
        keep: (object) => sightedOf(object, fieldManager),
        after,
      },
      {
        onChange: (object, before) => this.#each((one) => one.changed(object, before)),
        onDelete: (object) => this.#each((one) => one.deleted(object)),
        onSynced: (listing) => this.#each((one) => one.listed(listing)),
        onInterrupted: () => this.#each((one) => one.interrupted()),
        onError: (error) => this.#each((one) => one.failed(error)),
      },
    );
  }

  #selectorWith({ componentUid }: Subscriber): string {
    const uids = [...this.#subscriptions].map((subscription) => subscription.componentUid);
    return this.isOfAll ? `${definitionLabel}=true` : componentsSelector([...uids, componentUid]);
  }

  // Who hears of something may leave, or begin anew, and then does not hear of it again.
  #each(tell: (subscription: KindSubscription) => void): void {
    const present = [...this.#subscriptions];
    for (const subscription of present) {
      if (this.#subscriptions.has(subscription)) tell(subscription);
    }
  }
}

function sightedOf(object: KubeObject, fieldManager: string): Sighted {
  const metadata = sightingOf(object, fieldManager);
  const owner = object.metadata.labels?.[componentUidLabel];
  return isWorkload(object)
    ? { metadata, owner, workload: withoutBulk(object) }
    : { metadata, owner };
}

function withoutBulk(workload: KubeObject): KubeObject {
  const { spec } = workload;
  return {
    ...withoutManagedFields(workload),
    spec: isRecord(spec) ? { ...spec, template: undefined } : spec,
  };
}
