import type { KubeObject } from "../../api/kubernetes.ts";

/** The fields that are always kept of an object. */
export interface Kept {
  readonly metadata: Pick<KubeObject["metadata"], "uid" | "resourceVersion">;
}

/** Key of an object in a reflector. */
export function reflectorKey(metadata: {
  readonly namespace?: string;
  readonly name: string;
}): string {
  const { namespace = "", name } = metadata;
  return namespace === "" ? name : `${namespace}/${name}`;
}

export interface KeptHandlers<Item extends Kept> {
  /** An object was created or changed. `before` is its last kept state; undefined for a new object. */
  readonly onChange: (object: Item, before: Item | undefined) => void;
  /** An object was deleted. `object` is its last state. */
  readonly onDelete: (object: Item) => void;
}

/** The kept objects of a collection, by key. Calls the handlers for each difference. */
export class KeptObjects<Item extends Kept> {
  readonly #objects = new Map<string, Item>();
  readonly #keep: (object: KubeObject) => Item;
  readonly #handlers: KeptHandlers<Item>;
  /** Keys of the relist that runs; undefined while none runs. */
  #relisted: Set<string> | undefined;

  constructor(keep: (object: KubeObject) => Item, handlers: KeptHandlers<Item>) {
    this.#keep = keep;
    this.#handlers = handlers;
  }

  get(key: string): Item | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<Item> {
    return this.#objects.values();
  }

  get isRelisting(): boolean {
    return this.#relisted !== undefined;
  }

  beginRelist(): void {
    this.#relisted = new Set();
  }

  /** Ends the relist that runs. Returns the keys of its objects; undefined when none ran. */
  endRelist(): ReadonlySet<string> | undefined {
    const keys = this.#relisted;
    this.#relisted = undefined;
    return keys;
  }

  change(object: KubeObject): void {
    const key = reflectorKey(object.metadata);
    this.#relisted?.add(key);
    const before = this.#objects.get(key);
    const isSame = before?.metadata.uid === object.metadata.uid;
    if (isSame && before.metadata.resourceVersion === object.metadata.resourceVersion) return;
    if (before !== undefined && !isSame) {
      // The object was deleted and created again while we did not watch.
      this.#objects.delete(key);
      this.#handlers.onDelete(before);
    }
    const kept = this.#keep(object);
    this.#objects.set(key, kept);
    this.#handlers.onChange(kept, isSame ? before : undefined);
  }

  delete(object: KubeObject): void {
    const key = reflectorKey(object.metadata);
    this.#relisted?.delete(key);
    if (this.#objects.delete(key)) this.#handlers.onDelete(this.#keep(object));
  }

  /** Deletes each object whose key is not among `keys`. */
  deleteExcept(keys: ReadonlySet<string>): void {
    for (const [key, object] of this.#objects) {
      if (keys.has(key)) continue;
      this.#objects.delete(key);
      this.#handlers.onDelete(object);
    }
  }
}
