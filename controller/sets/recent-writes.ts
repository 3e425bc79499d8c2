import type { KubeObject } from "../../api/kubernetes.ts";
import { isOlder } from "../../installation/observed-object.ts";

// After this time a watch must have shown a write. Then only the watch counts.
const trustedMs = 600_000;

/** What this process wrote last. A watch shows a write only a moment later; without this the same decision would be made twice. */
export class RecentWrites<Item extends KubeObject> {
  readonly #written = new Map<string, { readonly item: Item; readonly at: number }>();

  /** Remembers the answer of a write; `now` in ms. */
  add(key: string, item: Item, now: number): void {
    this.#written.set(key, { item, at: now });
  }

  /** The object is gone. */
  delete(key: string): void {
    this.#written.delete(key);
  }

  /** The newer one of what a watch shows and what was written. */
  newest(key: string, seen: Item | undefined, now: number): Item | undefined {
    const written = this.#written.get(key);
    if (written === undefined) return seen;
    const isOver = now - written.at > trustedMs;
    const isSeen = seen !== undefined && !isOlder(seen.metadata, written.item.metadata);
    if (!isOver && !isSeen) return written.item;
    this.#written.delete(key);
    return seen;
  }

  /** All objects of a watch and those that were written since, each the newer way. */
  all(seen: ReadonlyMap<string, Item>, now: number): ReadonlyMap<string, Item> {
    if (this.#written.size === 0) return seen;
    const all = new Map(seen);
    for (const key of this.#written.keys()) {
      const item = this.newest(key, seen.get(key), now);
      if (item === undefined) all.delete(key);
      else all.set(key, item);
    }
    return all;
  }
}
