import type { ObjectRef } from "../../access/kube/kube-client.ts";
import type { Listing } from "../../access/kube/reflector.ts";
import { logWatchBug } from "../../access/log.ts";
import { abortable } from "../../access/time/deadline.ts";
import { kindId, objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import {
  type Gone,
  GoneObjects,
  isApplied,
  isDrift,
  isNewer,
  isOlder,
  type ObservedObject,
} from "../../installation/observed-object.ts";
import { afterWrite, turnOf } from "../../installation/readiness.ts";
import type { WatchedObject } from "../target/shared-watches.ts";
import { KindWatch } from "./kind-watch.ts";
import type { Observation, ObserveOptions } from "./observation.ts";
import { type SingleState, singleStateOf, SingleWatch } from "./single-watch.ts";

/**
 * Opens a live view of the installation of one component on one cluster. Nothing is watched before `watchKinds`.
 *
 * It reports an object that is gone, was replaced or is being deleted, or that lost or changed a field of ours, and a stray that appears. It reports a
 * workload that is new, or whose availability or cause changed, and a Job that may have failed. It reports a kind that cannot be watched for some
 * seconds or for want of the right, and one that can be watched again. It does not report other changes of a status, our own writes that were noted,
 * nor the objects of the first list of a kind.
 */
export function observe(options: ObserveOptions): Observation {
  return new LiveObservation(options);
}

// More Jobs than an installation has: a cluster may tell of others without end.
const mostCutShort = 1_000;

class LiveObservation implements Observation {
  readonly #options: ObserveOptions;
  readonly #watches = new Map<string, KindWatch>();
  readonly #records = new Map<string, ObservedObject>();
  readonly #workloads = new Map<string, KubeObject>();
  readonly #cutShort = new Set<string>();
  readonly #gones = new GoneObjects();
  readonly #singles = new Map<string, SingleWatch>();
  /** The noted states of single objects, by identity. */
  readonly #noted = new Map<string, SingleState>();
  #isClosed = false;

  constructor(options: ObserveOptions) {
    this.#options = options;
  }

  watchKinds(resources: readonly ResourceType[]): void {
    this.#assertOpen();
    const desired = new Map(resources.map((resource) => [kindId(resource), resource]));
    for (const [kind, { resource }] of this.#watches) {
      const { apiVersion, plural } = desired.get(kind) ?? {};
      if (apiVersion !== resource.apiVersion || plural !== resource.plural) this.#close(kind);
    }
    for (const [kind, resource] of desired) {
      const open = this.#watches.get(kind);
      if (open === undefined) this.#open(kind, resource);
      else open.retryIfFailing();
    }
  }

  watchSingles(singles: readonly ObjectRef[]): void {
    this.#assertOpen();
    const desired = new Map(singles.map((ref) => [objectId({ ...ref.resource, ...ref }), ref]));
    for (const [id, watch] of this.#singles) {
      if (desired.has(id)) continue;
      watch[Symbol.dispose]();
      this.#singles.delete(id);
    }
    for (const [id, ref] of desired) {
      if (!this.#singles.has(id)) this.#singles.set(id, this.#openSingle(id, ref));
    }
  }

  noteSingle(object: KubeObject): void {
    const id = objectId(keyOf(object));
    // A hash instead of the object: the text of an inventory takes some 10 kB.
    const state = singleStateOf(object);
    this.#noted.set(id, state);
    this.#singles.get(id)?.note(state);
  }

  isDisturbed(): boolean {
    return [...this.#singles.values()].some(({ isDisturbed }) => isDisturbed);
  }

  isLost({ key, uid }: { readonly key: ObjectKey; readonly uid: string }): boolean {
    return this.#singles.get(objectId(key))?.isLost(uid) === true;
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    const settled = [...this.#watches.values()].map((watch) => watch.settled);
    await abortable(Promise.all(settled), signal);
  }

  live(): readonly ResourceType[] {
    return [...this.#watches.values()]
      .filter(({ isLive }) => isLive)
      .map(({ resource }) => resource);
  }

  pending(): readonly ResourceType[] {
    return [...this.#watches.values()]
      .filter(({ isLive, refusal }) => !isLive && refusal === undefined)
      .map(({ resource }) => resource);
  }

  behind(): ReadonlySet<string> {
    return new Set([...this.#watches].flatMap(([kind, { isBehind }]) => (isBehind ? [kind] : [])));
  }

  refused(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#watches].flatMap(([kind, { refusal }]) =>
        refusal === undefined ? [] : [[kind, refusal] as const],
      ),
    );
  }

  note(objects: readonly ObservedObject[]): void {
    for (const object of objects) {
      const id = objectId(object.key);
      const isWatched = this.#watches.has(kindId(object.key));
      // An answer may arrive after the event that its object is gone.
      const isGone = this.#gones.wentAfter(id, object);
      if (!isWatched || isGone || isOlder(object, this.#records.get(id))) continue;
      this.#record(id, object);
      const workload = this.#workloads.get(id);
      if (workload !== undefined) this.#workloads.set(id, afterWrite(workload, object));
    }
  }

  objects(): ReadonlyMap<string, ObservedObject> {
    return this.#records;
  }

  cutShort(): ReadonlySet<string> {
    return this.#cutShort;
  }

  workloads(): ReadonlyMap<string, KubeObject> {
    return this.#workloads;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const kind of this.#watches.keys()) this.#close(kind);
    for (const watch of this.#singles.values()) watch[Symbol.dispose]();
    this.#singles.clear();
    return Promise.resolve();
  }

  // Nobody would close a watch that is opened now, and an empty view would look like an empty cluster.
  #assertOpen(): void {
    if (this.#isClosed) throw new DOMException("The observation was closed", "AbortError");
  }

  #openSingle(id: string, ref: ObjectRef): SingleWatch {
    const { client, clock, onChange, log } = this.#options;
    const { resource, ...name } = ref;
    const { apiVersion, kind } = resource;
    const key = { apiVersion, kind, ...name };
    return new SingleWatch(
      { client, clock, ref, noted: this.#noted.get(id) },
      {
        onLost: () => onChange({ kind: "object", key }),
        onChanged: () => onChange({ kind: "object", key }),
        onAddition: () => onChange({ kind: "labels", key }),
        onMissed: () => onChange({ kind: "watch", resource }),
        onError: (err) => log.debug({ kind, err }, "A watch on the target failed"),
        onBug: logWatchBug(log, kind),
      },
    );
  }

  #open(kind: string, resource: ResourceType): void {
    const { watches, componentUid, onChange, log } = this.#options;
    const options = { watches, resource, componentUid };
    const watch: KindWatch = new KindWatch(options, {
      onObject: (object) => this.#takeObject(object, watch.wasListed),
      onGone: (object) => this.#takeDeletion(object),
      onListed: (listing) => {
        this.#takeList(watch, listing);
        this.#dropUnlisted(kind, watch, listing);
      },
      onVanished: () => this.#dropUnlisted(kind, watch),
      onVisibilityChange: () => onChange({ kind: "watch", resource }),
      onError: (err) => {
        log.debug({ kind: resource.kind, err }, "A watch on the target failed");
        if (this.#hasLiveList()) watch.giveUp(err);
      },
      onBug: logWatchBug(log, resource.kind),
    });
    this.#watches.set(kind, watch);
  }

  /** The server lists at least one kind. */
  #hasLiveList(): boolean {
    return [...this.#watches.values()].some(({ isLive, wasListed }) => isLive && wasListed);
  }

  #close(kind: string): void {
    this.#watches.get(kind)?.[Symbol.dispose]();
    this.#watches.delete(kind);
    for (const [id, { key }] of this.#records) {
      if (kindId(key) !== kind) continue;
      this.#records.delete(id);
      this.#workloads.delete(id);
    }
  }

  #takeObject({ metadata: record, workload }: WatchedObject, wasListed: boolean): void {
    const id = objectId(record.key);
    const known = this.#records.get(id);
    const isStale = isOlder(record, known);
    if (!isStale) this.#record(id, record);
    this.#takeWorkload(id, workload);
    if (!wasListed || isStale) return;
    if (isDrift(known, record) || this.#isStray(known, record)) this.#report(record);
    else if (isApplied(known, record)) this.#options.onChange({ kind: "apply", key: record.key });
    else if (record.mayHaveFailed) this.#options.onChange({ kind: "job", key: record.key });
  }

  #isStray(known: ObservedObject | undefined, { key }: ObservedObject): boolean {
    return known === undefined && this.#options.isUnwanted?.(key) === true;
  }

  #record(id: string, record: ObservedObject): void {
    this.#records.set(id, record);
    this.#cutShort.delete(id);
    this.#gones.delete(id);
  }

  #forget(id: string, gone: Gone): void {
    this.#records.delete(id);
    this.#gones.add(id, gone);
  }

  #takeWorkload(id: string, workload: KubeObject | undefined): void {
    if (workload === undefined) return;
    const before = this.#workloads.get(id);
    const record = this.#records.get(id);
    const after = record === undefined ? workload : afterWrite(workload, record);
    this.#workloads.set(id, after);
    if (before === undefined || turnOf(before) !== turnOf(after)) {
      this.#options.onChange({ kind: "workload", key: keyOf(workload) });
    }
  }

  #takeDeletion({ metadata: record }: WatchedObject): void {
    const id = objectId(record.key);
    const known = this.#records.get(id);
    // Last seen before our own write: the object is missing in a list, and `#dropUnlisted` compares the write with that list.
    if (isOlder(record, known)) return;
    if (this.#workloads.get(id)?.metadata.uid === record.uid) this.#workloads.delete(id);
    // Another uid: the answer to our own write showed a new object before the watch did.
    if (known?.uid !== record.uid) return;
    const { uid, resourceVersion } = record;
    // An object that is missing in a list is passed as it was last seen.
    this.#forget(id, isNewer(record, known) ? { uid, resourceVersion } : { uid });
    // A Job that is missing in a later list may have finished before its deletion.
    const isCutShort = record.finished === false && isNewer(record, known);
    if (isCutShort && this.#cutShort.size < mostCutShort) this.#cutShort.add(id);
    this.#report(record);
  }

  /** Replaces records by the objects of a list, also newer records when an older state of the cluster was restored. Keeps records of writes during the list. */
  #takeList(watch: KindWatch, listing: Listing): void {
    for (const { metadata: record, workload } of watch.objects()) {
      const id = objectId(record.key);
      const known = this.#records.get(id);
      if (known?.resourceVersion === record.resourceVersion) continue;
      if (!listing.wentBack && isOlder(listing, known)) continue;
      this.#record(id, record);
      this.#takeWorkload(id, workload);
      const isDifferent = isDrift(known, record) || isApplied(known, record);
      if (isDifferent || this.#isStray(known, record)) this.#report(record);
    }
  }

  /** Drops the records of a kind that are missing in a list. */
  #dropUnlisted(kind: string, watch: KindWatch, listing?: Listing): void {
    for (const [id, record] of this.#records) {
      if (kindId(record.key) !== kind || watch.has(record.key)) continue;
      // The object was written during the list: its watch event is still to come.
      if (listing?.wentBack === false && isOlder(listing, record)) continue;
      this.#forget(id, { uid: record.uid });
      this.#workloads.delete(id);
      this.#report(record);
    }
  }

  #report({ key }: ObservedObject): void {
    this.#options.onChange({ kind: "object", key });
  }
}
