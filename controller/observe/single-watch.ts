import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import { type Listing, Reflector } from "../../access/kube/reflector.ts";
import { canonicalJson } from "../../api/fields.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { isNewer, isOlder } from "../../installation/observed-object.ts";
import { hashOf } from "../../render/fields.ts";

export interface SingleWatchOptions {
  readonly client: Pick<KubeClient, "watch" | "list">;
  readonly ref: ObjectRef;
  /** As the caller last read or wrote it, if it did; without that only its end matters. */
  readonly noted: Look | undefined;
}

export interface SingleWatchHandlers {
  /** It is gone, or another one is in its place. */
  readonly onLost: () => void;
  /** It is not as it was noted. */
  readonly onChanged: () => void;
  /** A Namespace is as it was noted, and has other labels or annotations beside that. */
  readonly onAddition: () => void;
  /** Its watch has failed for some seconds. */
  readonly onMissed: () => void;
  readonly onError: (error: unknown) => void;
}

/** What is kept of an object; `look` is a hash, equal for states that make no difference to us. */
export interface Look {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly look: string;
  /** Of a Namespace: its labels and annotations. Empty for others. */
  readonly marks: readonly string[];
}

/**
 * The watch of one object by its name, for what belongs to an installation without carrying its label: the anchor, and the
 * namespaces. It compares with what the caller noted, and costs no request but the watch.
 */
export class SingleWatch implements Disposable {
  readonly #reflector: Reflector;
  readonly #handlers: SingleWatchHandlers;
  #noted: Look | undefined;
  #seen: Look | undefined;
  #isGone = false;
  /** An older state of the cluster was restored since it was noted. */
  #isRewound = false;
  #goneUid: string | undefined;
  readonly #failures = new FailureRow();
  /** Its watch has failed for some seconds since it was noted. */
  #isMissed = false;

  constructor(options: SingleWatchOptions, handlers: SingleWatchHandlers) {
    const { client, ref, noted } = options;
    const { resource, namespace, name } = ref;
    this.#handlers = handlers;
    if (noted !== undefined) this.note(noted);
    const fieldSelector = `metadata.name=${name}`;
    const collection = {
      resource,
      ...(namespace === undefined ? {} : { namespace }),
      fieldSelector,
    };
    this.#reflector = new Reflector(
      { client, ref: collection, metadataOnly: true, keep: (object) => this.#kept(object) },
      {
        onChange: () => this.#compare(),
        onDelete: ({ metadata }) => this.#gone(metadata.uid),
        onSynced: (listing) => this.#listed(listing),
        onError: (error) => this.#failed(error),
      },
    );
  }

  /** It is gone, or not as it was noted, or nobody can see whether it is. */
  get isDisturbed(): boolean {
    if (this.#isGone || this.#isRewound || this.#isMissed) return true;
    if (this.#noted === undefined || this.#seen === undefined) return false;
    return isNewer(this.#seen, this.#noted) && this.#seen.look !== this.#noted.look;
  }

  /** The object of this uid, the last one that was noted, is known to be gone. */
  isLost(uid: string): boolean {
    if (this.#goneUid === uid) return true;
    if (this.#noted?.uid !== uid || this.#seen === undefined) return false;
    return isNewer(this.#seen, this.#noted) && this.#seen.uid !== uid;
  }

  /** Takes in what the caller read or wrote. What is gone may have been read before it went: only another object takes its place. */
  note(object: Look): void {
    this.#noted = object;
    if (object.uid !== this.#goneUid) this.#isGone = false;
    this.#isRewound = false;
    this.#isMissed = false;
  }

  [Symbol.dispose](): void {
    this.#reflector[Symbol.dispose]();
  }

  // Compared here, because what is kept of the object says nothing any more.
  #kept(object: KubeObject): KubeObject {
    this.#seen = lookOf(object);
    const { namespace, name, uid, resourceVersion } = object.metadata;
    return { ...keyOf(object), metadata: { namespace, name, uid, resourceVersion } };
  }

  #compare(): void {
    this.#works();
    this.#isGone = false;
    if (!this.isDisturbed) return;
    const { onLost, onChanged, onAddition } = this.#handlers;
    if (this.#noted?.uid !== this.#seen?.uid) onLost();
    else if (this.#hasAdditionsOnly()) onAddition();
    else onChanged();
  }

  #hasAdditionsOnly(): boolean {
    const { marks: noted = [] } = this.#noted ?? {};
    const { marks: seen = [] } = this.#seen ?? {};
    return noted.length < seen.length && noted.every((mark) => seen.includes(mark));
  }

  #works(): void {
    this.#failures.end();
    // Who never noted what it is like misses nothing by now.
    if (this.#noted === undefined) this.#isMissed = false;
  }

  #gone(uid?: string): void {
    this.#isGone = true;
    this.#goneUid = uid ?? this.#goneUid;
    this.#handlers.onLost();
  }

  #failed(error: unknown): void {
    this.#handlers.onError(error);
    this.#failures.add(error);
    if (!this.#failures.isNews()) return;
    this.#isMissed = true;
    this.#handlers.onMissed();
  }

  #listed(listing: Listing): void {
    this.#works();
    const isThere = [...this.#reflector.values()].length > 0;
    if (!isThere && !this.#isGone) this.#gone();
    if (!isThere || !this.#isUndoneBy(listing)) return;
    this.#isRewound = true;
    this.#handlers.onLost();
  }

  /** An older state was restored: the list is as new as what was noted, and shows something older. */
  #isUndoneBy(listing: Listing): boolean {
    if (this.#noted === undefined) return false;
    if (listing.wentBack) return true;
    return isOlder(this.#seen ?? this.#noted, this.#noted) && !isOlder(listing, this.#noted);
  }
}

/** What an object that was read or written is like. */
export function lookOf({ kind, metadata }: KubeObject): Look {
  const { uid, resourceVersion, deletionTimestamp, labels, annotations } = metadata;
  const { ownerReferences, finalizers, managedFields = [] } = metadata;
  const owned = managedFields.map(({ manager, operation, subresource, fieldsV1 }) =>
    canonicalJson({ manager, operation, subresource, fieldsV1 }),
  );
  const isGoing = deletionTimestamp !== undefined;
  const looks = { uid, isGoing, labels, annotations, ownerReferences, finalizers };
  // Of a namespace only labels and annotations are ours, and everybody writes the rest.
  if (kind === "Namespace") {
    const look = hashOf({ uid, labels, annotations });
    const marks = [labels, annotations].flatMap((one = {}, at) =>
      Object.entries(one).map(([key, value]) => `${at} ${key}=${value}`),
    );
    return { uid, resourceVersion, look, marks };
  }
  return { uid, resourceVersion, look: hashOf({ ...looks, owned: owned.toSorted() }), marks: [] };
}

// With the pauses between them three to six seconds: longer than a server needs that knows nobody's rights yet after its start.
const lastingLength = 4;
// Longer than the pause between two attempts: a watch that has failed so long ago has worked since, also when there was nothing to say.
const apartMs = 90_000;
// What ends a connection says nothing of the time before; an answer may have been waited for.
const cutApartMs = 15_000;
// Where lists are given but no watches, each look makes the next row.
const newsMs = 60_000;

/** Failures of one watch in a row. */
export class FailureRow {
  #length = 0;
  /** Without those after which it has probably worked. */
  #recent = 0;
  #lastAt = -Infinity;
  #toldAt = -Infinity;

  /** Failures since it was last seen to work. */
  get length(): number {
    return this.#length;
  }

  /** The watch has failed just now. */
  add(error: unknown): void {
    const now = performance.now();
    const apart = error instanceof ApiError ? apartMs : cutApartMs;
    if (now - this.#lastAt > apart) this.#begin();
    this.#length += 1;
    this.#recent += 1;
    this.#lastAt = now;
  }

  /** Whether somebody is to look, now that the watch has failed again: when the row has become a long one, and once a minute at most while it goes on. */
  isNews(): boolean {
    const now = performance.now();
    if (this.#recent < lastingLength || now - this.#toldAt < newsMs) return false;
    this.#toldAt = now;
    return true;
  }

  /** The watch works. */
  end(): void {
    this.#length = 0;
    this.#begin();
  }

  #begin(): void {
    this.#recent = 0;
  }
}
