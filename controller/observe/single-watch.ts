import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import { type Listing, Reflector } from "../../access/kube/reflector.ts";
import type { Clock } from "../../access/time/clock.ts";
import { canonicalJson } from "../../api/fields.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { isNewer, isOlder } from "../../installation/observed-object.ts";
import { hashOf } from "../../render/fields.ts";

export interface SingleWatchOptions {
  readonly clock: Clock;
  readonly client: Pick<KubeClient, "watch" | "list">;
  readonly ref: ObjectRef;
  /** The state that the caller last read or wrote. Undefined: only the end of the object is reported. */
  readonly noted: SingleState | undefined;
}

export interface SingleWatchHandlers {
  /** The object is gone, or another one has its name. */
  readonly onLost: () => void;
  /** The object differs from its noted state. */
  readonly onChanged: () => void;
  /** A Namespace got labels or annotations in addition to its noted ones. */
  readonly onAddition: () => void;
  /** The watch has failed for some seconds. */
  readonly onMissed: () => void;
  readonly onError: (error: unknown) => void;
  readonly onBug: (error: unknown) => void;
}

/** The kept state of an object. `hash` is equal for states that make no difference to us. */
export interface SingleState {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly hash: string;
  /** Labels and annotations of a Namespace. Empty for other kinds. */
  readonly marks: readonly string[];
}

/**
 * Watches one object by its name: the anchor or a namespace, which belong to an installation without its label. Compares it with the state that the
 * caller noted, and sends no request except the watch.
 */
export class SingleWatch implements Disposable {
  readonly #reflector: Reflector;
  readonly #handlers: SingleWatchHandlers;
  #noted: SingleState | undefined;
  #seen: SingleState | undefined;
  #isGone = false;
  /** An older state of the cluster was restored after the noted state. */
  #isRewound = false;
  #goneUid: string | undefined;
  readonly #failures: FailureRow;
  /** The watch has failed for some seconds after the noted state. */
  #isMissed = false;

  constructor(options: SingleWatchOptions, handlers: SingleWatchHandlers) {
    const { clock, client, ref, noted } = options;
    this.#failures = new FailureRow(clock);
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
      { client, clock, ref: collection, metadataOnly: true, keep: (object) => this.#keep(object) },
      {
        onChange: () => this.#compare(),
        onDelete: ({ metadata }) => this.#noteGone(metadata.uid),
        onSynced: (listing) => this.#takeListing(listing),
        onError: (error) => this.#noteFailure(error, handlers.onError),
        // What is not taken in is not known, as after a failure.
        onBug: (error) => this.#noteFailure(error, handlers.onBug),
      },
    );
  }

  /** The object is gone, or differs from its noted state, or cannot be watched. */
  get isDisturbed(): boolean {
    if (this.#isGone || this.#isRewound || this.#isMissed) return true;
    if (this.#noted === undefined || this.#seen === undefined) return false;
    return isNewer(this.#seen, this.#noted) && this.#seen.hash !== this.#noted.hash;
  }

  /** The object with this uid is known to be gone. */
  isLost(uid: string): boolean {
    if (this.#goneUid === uid) return true;
    if (this.#noted?.uid !== uid || this.#seen === undefined) return false;
    return isNewer(this.#seen, this.#noted) && this.#seen.uid !== uid;
  }

  /** Takes in the state that the caller read or wrote. A gone object stays gone: the caller may have read it before. */
  note(state: SingleState): void {
    this.#noted = state;
    if (state.uid !== this.#goneUid) this.#isGone = false;
    this.#isRewound = false;
    this.#isMissed = false;
  }

  [Symbol.dispose](): void {
    this.#reflector[Symbol.dispose]();
  }

  // Takes the state here, because the kept object has no labels or annotations any more.
  #keep(object: KubeObject): KubeObject {
    this.#seen = singleStateOf(object);
    const { namespace, name, uid, resourceVersion } = object.metadata;
    return { ...keyOf(object), metadata: { namespace, name, uid, resourceVersion } };
  }

  #compare(): void {
    this.#noteSuccess();
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

  #noteSuccess(): void {
    this.#failures.end();
    // Without a noted state there is nothing to compare, so that nothing was missed.
    if (this.#noted === undefined) this.#isMissed = false;
  }

  #noteGone(uid?: string): void {
    this.#isGone = true;
    this.#goneUid = uid ?? this.#goneUid;
    this.#handlers.onLost();
  }

  #noteFailure(error: unknown, tell: (error: unknown) => void): void {
    tell(error);
    this.#failures.add(error);
    if (!this.#failures.takeReport()) return;
    this.#isMissed = true;
    this.#handlers.onMissed();
  }

  #takeListing(listing: Listing): void {
    this.#noteSuccess();
    const isThere = [...this.#reflector.values()].length > 0;
    if (!isThere && !this.#isGone) this.#noteGone();
    if (!isThere || !this.#isUndoneBy(listing)) return;
    this.#isRewound = true;
    this.#handlers.onLost();
  }

  /** Whether an older state was restored: the list is as new as the noted state, but the object in it is older. */
  #isUndoneBy(listing: Listing): boolean {
    if (this.#noted === undefined) return false;
    if (listing.wentBack) return true;
    return isOlder(this.#seen ?? this.#noted, this.#noted) && !isOlder(listing, this.#noted);
  }
}

/** The state of an object that was read or written. */
export function singleStateOf({ kind, metadata }: KubeObject): SingleState {
  const { uid, resourceVersion, deletionTimestamp, labels, annotations } = metadata;
  const { ownerReferences, finalizers, managedFields = [] } = metadata;
  const owned = managedFields.map(({ manager, operation, subresource, fieldsV1 }) =>
    canonicalJson({ manager, operation, subresource, fieldsV1 }),
  );
  const deleting = deletionTimestamp !== undefined;
  const fields = { uid, deleting, labels, annotations, ownerReferences, finalizers };
  // We own labels and annotations of a Namespace only, and others write the rest.
  if (kind === "Namespace") {
    const hash = hashOf({ uid, labels, annotations });
    const marks = [labels, annotations].flatMap((map = {}, at) =>
      Object.entries(map).map(([key, value]) => `${at} ${key}=${value}`),
    );
    return { uid, resourceVersion, hash, marks };
  }
  return { uid, resourceVersion, hash: hashOf({ ...fields, owned: owned.toSorted() }), marks: [] };
}

// Three to six seconds, with the pauses between the failures: a server that has just started does not know the rights of its users for that long.
const lastingLength = 4;
// Longer than the pause between two tries: a watch without a failure for so long has worked, even without an event.
const apartMs = 90_000;
// The same for a broken connection, which may have worked until it broke. Waiting for an answer takes a part of this time.
const cutApartMs = 15_000;
// A server that allows lists but no watches causes a row of failures after each attempt.
const reportPauseMs = 60_000;

/** Failures of one watch in a row. */
export class FailureRow {
  readonly #clock: Pick<Clock, "now">;
  #length = 0;
  /** Without the failures after which the watch has probably worked. */
  #recent = 0;
  #lastAt = -Infinity;
  #reportedAt = -Infinity;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Failures since the watch last worked. */
  get length(): number {
    return this.#length;
  }

  /** Adds a failure that happened just now. */
  add(error: unknown): void {
    const now = this.#clock.now();
    const apart = error instanceof ApiError ? apartMs : cutApartMs;
    if (now - this.#lastAt > apart) this.#recent = 0;
    this.#length += 1;
    this.#recent += 1;
    this.#lastAt = now;
  }

  /** Whether to report the row, asked after each failure: when it has become long, and then at most once a minute. */
  takeReport(): boolean {
    const now = this.#clock.now();
    if (this.#recent < lastingLength || now - this.#reportedAt < reportPauseMs) return false;
    this.#reportedAt = now;
    return true;
  }

  /** Ends the row: the watch works. */
  end(): void {
    this.#length = 0;
    this.#recent = 0;
  }
}
