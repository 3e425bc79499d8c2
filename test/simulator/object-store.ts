import { randomUUID } from "node:crypto";

import { groupOf, type KubeObject, type Manifest } from "../../api/kubernetes.ts";

/** One change of a stored object, as watches tell it. */
export interface StoredEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: StoredObject;
  /** The object before a change. */
  readonly before?: StoredObject | undefined;
  readonly version: number;
}

/** A stored object, which is never changed in place. `digest` stands for the content that was not kept. */
export type StoredObject = KubeObject & { readonly digest?: string };

/** What an object is without its version, and for a new one without its uid. */
export interface Draft extends Manifest {
  readonly metadata: Manifest["metadata"] & { readonly name: string };
  readonly digest?: string;
}

/** What a store was like at one time. */
export interface Backup {
  readonly version: number;
  readonly kinds: ReadonlyMap<string, ReadonlyMap<string, StoredObject>>;
}

/** Events that a watch can still be given that begins at an older version. */
const rememberedEvents = 400;

/** The objects of one virtual cluster: their versions, and what changed last. */
export class ObjectStore {
  readonly #newUid: () => string;
  /** By group and kind, then by namespace and name. */
  readonly #kinds = new Map<string, Map<string, StoredObject>>();
  readonly #listeners = new Set<(event: StoredEvent) => void>();
  #events: StoredEvent[] = [];
  #version = 1;
  /** Events up to this version are forgotten. */
  #forgotten = 0;

  constructor(newUid: () => string = randomUUID) {
    this.#newUid = newUid;
  }

  get version(): number {
    return this.#version;
  }

  get(kindId: string, key: string): StoredObject | undefined {
    return this.#kinds.get(kindId)?.get(key);
  }

  /** The object of a manifest's kind, namespace and name. */
  find(manifest: Manifest): StoredObject | undefined {
    return this.get(kindIdOf(manifest), keyOf(manifest));
  }

  all(kindId: string): Iterable<StoredObject> {
    return this.#kinds.get(kindId)?.values() ?? [];
  }

  *everything(): Iterable<StoredObject> {
    for (const objects of this.#kinds.values()) yield* objects.values();
  }

  put(draft: Draft): StoredObject {
    this.#version += 1;
    const { uid = this.#newUid() } = draft.metadata;
    const metadata = { ...draft.metadata, uid, resourceVersion: String(this.#version) };
    const object: StoredObject = { ...draft, metadata };
    const objects = this.#objectsOf(kindIdOf(object));
    const before = objects.get(keyOf(object));
    objects.set(keyOf(object), object);
    const type = before === undefined ? "ADDED" : "MODIFIED";
    this.#tell({ type, object, before, version: this.#version });
    return object;
  }

  /** Deletes an object at a time, RFC 3339. What has a finalizer stays until somebody takes that off. */
  remove(object: StoredObject, deletionTimestamp: string): void {
    const { metadata } = object;
    if ((metadata.finalizers ?? []).length === 0) return this.drop(object);
    if (metadata.deletionTimestamp !== undefined) return;
    const { generation } = metadata;
    // The end of an object is a change that its controller has to look at.
    const next = generation === undefined ? {} : { generation: generation + 1 };
    this.put({ ...object, metadata: { ...metadata, deletionTimestamp, ...next } });
  }

  /** Does nothing when it is not there any more. */
  drop({ metadata, ...rest }: StoredObject): void {
    const objects = this.#objectsOf(kindIdOf(rest));
    if (!objects.delete(keyOf({ metadata }))) return;
    this.#version += 1;
    const object = {
      ...rest,
      metadata: { ...metadata, resourceVersion: String(this.#version) },
    };
    this.#tell({ type: "DELETED", object, version: this.#version });
  }

  /** What happened after a version; undefined when that is not remembered. */
  since(version: number): readonly StoredEvent[] | undefined {
    if (version < this.#forgotten) return undefined;
    return this.#events.filter((event) => event.version > version);
  }

  /** The objects as they are now, for `restore`. */
  backup(): Backup {
    const kinds = new Map([...this.#kinds].map(([kind, objects]) => [kind, new Map(objects)]));
    return { version: this.#version, kinds };
  }

  /** Goes back to a backup, and its version to that of the backup. What was remembered of later events is lost; listeners are told of each object that was changed since. */
  restore({ version, kinds }: Backup): void {
    const later = [...this.everything()].filter(
      ({ metadata }) => Number(metadata.resourceVersion) > version,
    );
    const before = new Set([...this.everything()].map(({ metadata }) => metadata.resourceVersion));
    this.#kinds.clear();
    for (const [kind, objects] of kinds) this.#kinds.set(kind, new Map(objects));
    [this.#version, this.#forgotten, this.#events] = [version, version, []];
    for (const object of later) {
      const isGone = this.find(object)?.metadata.uid !== object.metadata.uid;
      if (isGone) this.#call({ type: "DELETED", object, version });
    }
    for (const object of this.everything()) {
      if (before.has(object.metadata.resourceVersion)) continue;
      this.#call({ type: "MODIFIED", object, version });
    }
  }

  /** Calls for each later event until the answer is disposed. */
  listen(listener: (event: StoredEvent) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #objectsOf(kindId: string): Map<string, StoredObject> {
    const known = this.#kinds.get(kindId);
    if (known !== undefined) return known;
    const objects = new Map<string, StoredObject>();
    this.#kinds.set(kindId, objects);
    return objects;
  }

  #tell(event: StoredEvent): void {
    this.#events.push(event);
    if (this.#events.length > rememberedEvents) {
      this.#events = this.#events.slice(rememberedEvents / 2);
      this.#forgotten = (this.#events[0]?.version ?? 1) - 1;
    }
    this.#call(event);
  }

  #call(event: StoredEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/** Group and kind, because an object is the same in all versions of its group. */
export function kindIdOf({
  apiVersion,
  kind,
}: {
  readonly apiVersion: string;
  readonly kind: string;
}): string {
  return `${groupOf(apiVersion)}/${kind}`;
}

/** Namespace and name. */
function keyOf({ metadata }: Pick<Manifest, "metadata">): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}
