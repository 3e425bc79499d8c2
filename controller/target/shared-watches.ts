import type { KubeClient } from "../../access/kube/kube-client.ts";
import { KeepingReflector, type Listing } from "../../access/kube/reflector.ts";
import type { Clock } from "../../access/time/clock.ts";
import { nameId } from "../../api/keys.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import {
  componentUidLabel,
  definitionLabel,
  componentsSelector,
} from "../../installation/anchor.ts";
import { type ObservedObject, observedObject } from "../../installation/observed-object.ts";
import { isWorkload } from "../../installation/readiness.ts";
import { workloadPart } from "../../installation/workload-part.ts";

/** The kept part of an object. */
export interface WatchedObject {
  readonly metadata: ObservedObject;
  /** Uid of the component in the label of the object. */
  readonly owner: string | undefined;
  /** Only for a workload: the part of it that readiness needs. */
  readonly workload?: KubeObject;
}

/** Called about the objects of one kind and component; see reflector.ts. */
export interface SharedWatchHandlers {
  readonly onObject: (object: WatchedObject) => void;
  readonly onGone: (object: WatchedObject) => void;
  readonly onListed: (listing: Listing) => void;
  readonly onInterrupted: () => void;
  readonly onError: (error: unknown) => void;
  readonly onBug: (error: unknown) => void;
}

type WatchClient = Pick<KubeClient, "watch" | "list">;

/**
 * The watches of the components on one cluster: one watch a kind for all components, because each watch costs some 12 kB here and load on the API
 * server. A new subscription lists the kind again.
 */
export class SharedWatches {
  /** The clock of the watches and of who subscribes to them. */
  readonly clock: Clock;
  readonly #client: WatchClient;
  readonly #fieldManager: string;
  readonly #kinds = new Map<string, SharedKind>();

  constructor(clock: Clock, client: WatchClient, fieldManager: string) {
    this.clock = clock;
    this.#client = client;
    this.#fieldManager = fieldManager;
  }

  /** Watches one kind for one component until the subscription is disposed. */
  subscribe(
    { resource, componentUid, after }: WatchRequest,
    handlers: SharedWatchHandlers,
  ): KindSubscription {
    const id = `${resource.apiVersion}/${resource.plural}`;
    const kind =
      this.#kinds.get(id) ??
      new SharedKind({
        client: this.#client,
        clock: this.clock,
        resource,
        fieldManager: this.#fieldManager,
        onUnused: () => this.#kinds.delete(id),
      });
    const subscription = kind.join({ componentUid, handlers }, after);
    this.#kinds.set(id, kind);
    return subscription;
  }
}

interface WatchRequest {
  readonly resource: ResourceType;
  readonly componentUid: string;
  /** Last known version of the kind, or empty. A list with an earlier version is an older state that was restored. */
  readonly after: string;
}

interface Subscriber {
  /** Selects the objects of the component. */
  readonly componentUid: string;
  readonly handlers: SharedWatchHandlers;
}

/** The objects of one kind and component. */
export class KindSubscription implements Disposable {
  readonly #subscriber: Subscriber;
  readonly #kind: SharedKind;
  /** Whether a list has arrived since the subscription. Objects of earlier lists are not passed. */
  #hasList: boolean;

  constructor(kind: SharedKind, subscriber: Subscriber, hasList: boolean) {
    this.#kind = kind;
    this.#subscriber = subscriber;
    this.#hasList = hasList;
  }

  get componentUid(): string {
    return this.#subscriber.componentUid;
  }

  /** The last known version of the kind, or empty. */
  get version(): string {
    return this.#kind.version;
  }

  /** Tries again now when the last try failed, but not before the time that the server asked for. */
  hasten(): void {
    this.#kind.hasten();
  }

  has(key: ObjectKey): boolean {
    const object = this.#hasList ? this.#kind.get(nameId(key)) : undefined;
    return object !== undefined && this.#sees(object);
  }

  *objects(): Iterable<WatchedObject> {
    if (!this.#hasList) return;
    for (const object of this.#kind.objects()) if (this.#sees(object)) yield object;
  }

  [Symbol.dispose](): void {
    this.#kind.leave(this);
  }

  passChange(object: WatchedObject, before: WatchedObject | undefined): void {
    if (!this.#hasList) return;
    if (this.#sees(object)) this.#subscriber.handlers.onObject(object);
    else if (before !== undefined && this.#sees(before)) this.#subscriber.handlers.onGone(object);
  }

  passDeletion(object: WatchedObject): void {
    if (this.#hasList && this.#sees(object)) this.#subscriber.handlers.onGone(object);
  }

  passError(error: unknown): void {
    this.#subscriber.handlers.onError(error);
  }

  passBug(error: unknown): void {
    this.#subscriber.handlers.onBug(error);
  }

  passInterruption(): void {
    this.#subscriber.handlers.onInterrupted();
  }

  passListing(listing: Listing): void {
    const { handlers } = this.#subscriber;
    if (!this.#hasList) {
      this.#hasList = true;
      for (const object of this.objects()) handlers.onObject(object);
    }
    handlers.onListed(listing);
  }

  #sees({ owner }: WatchedObject): boolean {
    return this.#kind.isForAll || owner === this.componentUid;
  }
}

interface SharedKindOptions {
  readonly clock: Clock;
  readonly client: WatchClient;
  readonly resource: ResourceType;
  readonly fieldManager: string;
  /** The last subscription and the watch have ended. */
  readonly onUnused: () => unknown;
}

class SharedKind {
  /** Each component sees all objects. CRDs outlive their installation and may serve two components: their label names no component. */
  readonly isForAll: boolean;
  readonly #options: SharedKindOptions;
  readonly #subscriptions = new Set<KindSubscription>();
  /** `join` changes the selector for the next watch. The running watch keeps its own. */
  readonly #ref: { readonly resource: ResourceType; labelSelector: string };
  /** Runs while there are subscriptions. */
  #reflector: KeepingReflector<WatchedObject> | undefined;

  constructor(options: SharedKindOptions) {
    const { resource } = options;
    this.#options = options;
    this.isForAll = resource.kind === "CustomResourceDefinition";
    this.#ref = { resource, labelSelector: "" };
  }

  join(subscriber: Subscriber, after: string): KindSubscription {
    this.#ref.labelSelector = this.#selectorWith(subscriber);
    const subscription = new KindSubscription(this, subscriber, this.#reflector === undefined);
    this.#subscriptions.add(subscription);
    if (this.#reflector === undefined) this.#reflector = this.#startReflector(after);
    // The handlers get its errors.
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

  get(key: string): WatchedObject | undefined {
    return this.#reflector?.get(key);
  }

  objects(): Iterable<WatchedObject> {
    return this.#reflector?.values() ?? [];
  }

  #startReflector(after: string): KeepingReflector<WatchedObject> {
    const { client, clock, resource, fieldManager } = this.#options;
    return new KeepingReflector(
      {
        client,
        clock,
        ref: this.#ref,
        metadataOnly: !isWorkload(resource),
        keep: (object) => watchedObjectOf(object, fieldManager),
        after,
      },
      {
        onChange: (object, before) => this.#forEach((one) => one.passChange(object, before)),
        onDelete: (object) => this.#forEach((one) => one.passDeletion(object)),
        onSynced: (listing) => this.#forEach((one) => one.passListing(listing)),
        onInterrupted: () => this.#forEach((one) => one.passInterruption()),
        onError: (error) => this.#forEach((one) => one.passError(error)),
        onBug: (error) => this.#forEach((one) => one.passBug(error)),
      },
    );
  }

  #selectorWith({ componentUid }: Subscriber): string {
    const uids = [...this.#subscriptions].map((subscription) => subscription.componentUid);
    return this.isForAll ? `${definitionLabel}=true` : componentsSelector([...uids, componentUid]);
  }

  // A handler may end a subscription or start a new one: ended and new ones are skipped.
  #forEach(pass: (subscription: KindSubscription) => void): void {
    const present = [...this.#subscriptions];
    for (const subscription of present) {
      if (this.#subscriptions.has(subscription)) pass(subscription);
    }
  }
}

function watchedObjectOf(object: KubeObject, fieldManager: string): WatchedObject {
  const metadata = observedObject(object, fieldManager);
  const owner = object.metadata.labels?.[componentUidLabel];
  return isWorkload(object)
    ? { metadata, owner, workload: workloadPart(object) }
    : { metadata, owner };
}
