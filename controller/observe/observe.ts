import { abortable } from "../../access/deadline.ts";
import type { ObjectRef } from "../../access/kube/kube-client.ts";
import type { Listing } from "../../access/kube/reflector.ts";
import { identityOf, keyOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { kindIdOf } from "../../installation/kinds.ts";
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
import { KindWatch } from "./kind-watch.ts";
import type { Observation, ObserveOptions } from "./observation.ts";
import { type SharedWatches, type Sighted, WatchSharing } from "./shared-watches.ts";
import { type Look, lookOf, SingleWatch } from "./single-watch.ts";

/**
 * Opens a live view of the installation of one component on one cluster; nothing is watched until `watch()`.
 *
 * Reported are objects whose deletion began, that are gone, were replaced, or had a field of ours changed or removed, or that appear though nobody wants them; and workloads
 * that are seen first or whose availability, or the cause why they have none, changed, and Jobs that may have failed. Not reported: status noise, what our own writes did when
 * they were noted, and objects of a kind's first list. Reported is also that a kind cannot be watched any more, for some seconds or for want of the
 * right, and that it can again.
 */
export function observe(options: ObserveOptions): Observation {
  return new LiveObservation(options);
}

class LiveObservation implements Observation {
  readonly #options: ObserveOptions;
  readonly #watches = new Map<string, KindWatch>();
  readonly #records = new Map<string, ObservedObject>();
  readonly #workloads = new Map<string, KubeObject>();
  readonly #cutShort = new Set<string>();
  readonly #gones = new GoneObjects();
  readonly #guards = new Map<string, SingleWatch>();
  /** What was noted of guarded objects, by identity. */
  readonly #noted = new Map<string, Look>();
  readonly #shared: SharedWatches;
  #isClosed = false;

  constructor(options: ObserveOptions) {
    this.#options = options;
    const { sharing = new WatchSharing(), client, fieldManager } = options;
    this.#shared = sharing.over(client, fieldManager);
  }

  watch(resources: readonly ResourceType[]): void {
    this.#assertOpen();
    const wanted = new Map(resources.map((resource) => [kindIdOf(resource), resource]));
    for (const [kind, { resource }] of this.#watches) {
      const { apiVersion, plural } = wanted.get(kind) ?? {};
      if (apiVersion !== resource.apiVersion || plural !== resource.plural) this.#close(kind);
    }
    for (const [kind, resource] of wanted) {
      const open = this.#watches.get(kind);
      if (open === undefined) this.#open(kind, resource);
      else open.retryIfFailing();
    }
  }

  guard(singles: readonly ObjectRef[]): void {
    this.#assertOpen();
    const wanted = new Map(singles.map((ref) => [identityOf({ ...ref.resource, ...ref }), ref]));
    for (const [id, guard] of this.#guards) {
      if (wanted.has(id)) continue;
      guard[Symbol.dispose]();
      this.#guards.delete(id);
    }
    for (const [id, ref] of wanted) {
      if (!this.#guards.has(id)) this.#guards.set(id, this.#guardOf(id, ref));
    }
  }

  noteGuarded(object: KubeObject): void {
    const id = identityOf(keyOf(object));
    // Not the object itself: the text of an inventory takes some 10 kB.
    const look = lookOf(object);
    this.#noted.set(id, look);
    this.#guards.get(id)?.note(look);
  }

  isDisturbed(): boolean {
    return [...this.#guards.values()].some(({ isDisturbed }) => isDisturbed);
  }

  isLost({ key, uid }: { readonly key: ObjectKey; readonly uid: string }): boolean {
    return this.#guards.get(identityOf(key))?.isLost(uid) === true;
  }

  async synced(signal: AbortSignal): Promise<void> {
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
      const id = identityOf(object.key);
      const isWatched = this.#watches.has(kindIdOf(object.key));
      // Answers may come later than the news that what they tell of went since.
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
    for (const guard of this.#guards.values()) guard[Symbol.dispose]();
    this.#guards.clear();
    return Promise.resolve();
  }

  // What is opened now nobody would close, and an empty view would look like an empty cluster.
  #assertOpen(): void {
    if (this.#isClosed) throw new DOMException("The observation was closed", "AbortError");
  }

  #guardOf(id: string, ref: ObjectRef): SingleWatch {
    const { client, onChange, log } = this.#options;
    const { resource, ...where } = ref;
    const { apiVersion, kind } = resource;
    const key = { apiVersion, kind, ...where };
    return new SingleWatch(
      { client, ref, noted: this.#noted.get(id) },
      {
        onLost: () => onChange({ kind: "object", key }),
        onChanged: () => onChange({ kind: "object", key }),
        onAddition: () => onChange({ kind: "labels", key }),
        onMissed: () => onChange({ kind: "watch", resource }),
        onError: (err) => log.debug({ kind, err }, "A watch on the target failed"),
      },
    );
  }

  #open(kind: string, resource: ResourceType): void {
    const { componentUid, onChange, log } = this.#options;
    const options = { watches: this.#shared, resource, componentUid };
    const watch: KindWatch = new KindWatch(options, {
      onObject: (object) => this.#seen(object, watch.wasListed),
      onGone: (object) => this.#gone(object),
      onListed: (listing) => {
        this.#takeList(watch, listing);
        this.#listed(kind, watch, listing);
      },
      onVanished: () => this.#listed(kind, watch),
      onTurn: () => onChange({ kind: "watch", resource }),
      onError: (err) => {
        log.debug({ kind: resource.kind, err }, "A watch on the target failed");
        if (this.#isAnswered()) watch.giveUp(err);
      },
    });
    this.#watches.set(kind, watch);
  }

  /** The server gives lists of some kinds. */
  #isAnswered(): boolean {
    return [...this.#watches.values()].some(({ isLive, wasListed }) => isLive && wasListed);
  }

  #close(kind: string): void {
    this.#watches.get(kind)?.[Symbol.dispose]();
    this.#watches.delete(kind);
    for (const [id, { key }] of this.#records) {
      if (kindIdOf(key) !== kind) continue;
      this.#records.delete(id);
      this.#workloads.delete(id);
    }
  }

  #seen({ metadata: record, workload }: Sighted, wasListed: boolean): void {
    const id = identityOf(record.key);
    const known = this.#records.get(id);
    const stale = isOlder(record, known);
    if (!stale) this.#record(id, record);
    this.#seenWorkload(id, workload);
    if (!wasListed || stale) return;
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

  #seenWorkload(id: string, workload: KubeObject | undefined): void {
    if (workload === undefined) return;
    const before = this.#workloads.get(id);
    const record = this.#records.get(id);
    const after = record === undefined ? workload : afterWrite(workload, record);
    this.#workloads.set(id, after);
    if (before === undefined || turnOf(before) !== turnOf(after)) {
      this.#options.onChange({ kind: "workload", key: keyOf(workload) });
    }
  }

  #gone({ metadata: record }: Sighted): void {
    const id = identityOf(record.key);
    const known = this.#records.get(id);
    // Last seen before our own write: only a list lacks it so, and `#listed` looks whether the write is younger than that list.
    if (isOlder(record, known)) return;
    if (this.#workloads.get(id)?.metadata.uid === record.uid) this.#workloads.delete(id);
    // Another uid: created again since, which an answer to our own write told before the watch did.
    if (known?.uid !== record.uid) return;
    const { uid, resourceVersion } = record;
    // What a list lacks is told of as it was last seen.
    this.#forget(id, isNewer(record, known) ? { uid, resourceVersion } : { uid });
    // What a later list does not have may have finished while nobody was watching.
    if (record.finished === false && isNewer(record, known)) this.#cutShort.add(id);
    this.#report(record);
  }

  /** A list shows how things are, also where that is older than what was known, because an older state was restored. Only what was written while it was read is newer. */
  #takeList(watch: KindWatch, listing: Listing): void {
    for (const { metadata: record, workload } of watch.objects()) {
      const id = identityOf(record.key);
      const known = this.#records.get(id);
      if (known?.resourceVersion === record.resourceVersion) continue;
      if (!listing.wentBack && isOlder(listing, known)) continue;
      this.#record(id, record);
      this.#seenWorkload(id, workload);
      const isDifferent = isDrift(known, record) || isApplied(known, record);
      if (isDifferent || this.#isStray(known, record)) this.#report(record);
    }
  }

  #listed(kind: string, watch: KindWatch, listing?: Listing): void {
    for (const [id, record] of this.#records) {
      if (kindIdOf(record.key) !== kind || watch.has(record.key)) continue;
      // Written while the list was read, as the answer told: the watch has yet to tell it.
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
