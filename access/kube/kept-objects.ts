import type { KubeObject } from "../../api/kubernetes.ts";

/** The least that is kept of an object. */
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
  /** An object appeared or changed. `before` is what was known of it. */
  readonly onChange: (object: Item, before: Item | undefined) => void;
  /** An object is gone; its last known state. */
  readonly onDelete: (object: Item) => void;
}

/** What is known of the objects of a collection, by key; calls the handlers for each difference. */
export class KeptObjects<Item extends Kept> {
  readonly #objects = new Map<string, Item>();
  readonly #keep: (object: KubeObject) => Item;
  readonly #handlers: KeptHandlers<Item>;
  /** Keys seen since a relist began; undefined while there is none. */
  #seen: Set<string> | undefined;

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
    return this.#seen !== undefined;
  }

  beginRelist(): void {
    this.#seen = new Set();
  }

  /** The keys seen since the relist began; undefined when there was none. */
  endRelist(): ReadonlySet<string> | undefined {
    const seen = this.#seen;
    this.#seen = undefined;
    return seen;
  }

  change(object: KubeObject): void {
    const key = reflectorKey(object.metadata);
    this.#seen?.add(key);
    const before = this.#objects.get(key);
    const isSame = before?.metadata.uid === object.metadata.uid;
    if (isSame && before.metadata.resourceVersion === object.metadata.resourceVersion) return;
    if (before !== undefined && !isSame) {
      // Deleted and created again while nobody was looking.
      this.#objects.delete(key);
      this.#handlers.onDelete(before);
    }
    const kept = this.#keep(object);
    this.#objects.set(key, kept);
    this.#handlers.onChange(kept, isSame ? before : undefined);
  }

  delete(object: KubeObject): void {
    const key = reflectorKey(object.metadata);
    this.#seen?.delete(key);
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
