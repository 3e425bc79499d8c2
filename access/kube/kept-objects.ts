import { nameId } from "../../api/keys.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { type KeepHold, sizeOf } from "./keep-budget.ts";

/** The fields that are always kept of an object. */
export interface Kept {
  readonly metadata: Pick<KubeObject["metadata"], "uid" | "resourceVersion">;
}

export interface KeptHandlers<Item extends Kept> {
  /** An object was created or changed. `before` is its last kept state; undefined for a new object. */
  readonly onChange: (object: Item, before: Item | undefined) => void;
  /** An object was deleted. `object` is its last state. */
  readonly onDelete: (object: Item) => void;
}

/** The kept objects of a collection, by key. Calls the handlers for each difference. Disposing it gives back what it took of the budget. */
export class KeptObjects<Item extends Kept> implements Disposable {
  readonly #objects = new Map<string, Item>();
  readonly #keep: (object: KubeObject) => Item;
  readonly #handlers: KeptHandlers<Item>;
  readonly #hold: KeepHold | undefined;
  /** Keys of the relist that runs; undefined while none runs. */
  #relisted: Set<string> | undefined;

  /** `hold`: the account in the budget of the cluster. Absent: no limit. */
  constructor(keep: (object: KubeObject) => Item, handlers: KeptHandlers<Item>, hold?: KeepHold) {
    this.#keep = keep;
    this.#handlers = handlers;
    this.#hold = hold;
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

  /** Throws ConnectionError `tooLarge` above a limit of the budget. Nothing is kept then, because a part of a collection is no picture of it. */
  change(object: KubeObject): void {
    const key = nameId(object.metadata);
    this.#relisted?.add(key);
    const before = this.#objects.get(key);
    const isSame = before?.metadata.uid === object.metadata.uid;
    if (isSame && before.metadata.resourceVersion === object.metadata.resourceVersion) return;
    if (before !== undefined && !isSame) {
      // The object was deleted and created again while we did not watch.
      this.#drop(key, before);
      this.#handlers.onDelete(before);
    }
    const kept = this.#keep(object);
    if (isSame) this.#drop(key, before);
    this.#add(key, kept);
    this.#handlers.onChange(kept, isSame ? before : undefined);
  }

  delete(object: KubeObject): void {
    const key = nameId(object.metadata);
    this.#relisted?.delete(key);
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#drop(key, before);
    this.#handlers.onDelete(this.#keep(object));
  }

  /** Deletes each object whose key is not among `keys`. */
  deleteExcept(keys: ReadonlySet<string>): void {
    for (const [key, object] of this.#objects) {
      if (keys.has(key)) continue;
      this.#drop(key, object);
      this.#handlers.onDelete(object);
    }
  }

  /** Throws as `change` does when a list has already more objects than may be kept. */
  foresee(objects: number): void {
    this.#hold?.foresee(objects);
  }

  [Symbol.dispose](): void {
    this.#hold?.[Symbol.dispose]();
  }

  #add(key: string, item: Item): void {
    try {
      this.#hold?.add(sizeOf(item));
    } catch (error) {
      this.#objects.clear();
      this.#relisted?.clear();
      this.#hold?.[Symbol.dispose]();
      throw error;
    }
    this.#objects.set(key, item);
  }

  #drop(key: string, item: Item): void {
    this.#objects.delete(key);
    this.#hold?.remove(sizeOf(item));
  }
}
