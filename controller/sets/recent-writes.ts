import type { KubeObject } from "../../api/kubernetes.ts";
import { isOlder } from "../../installation/observed-object.ts";

// By this time the watch must have shown a write; from then on only the watch counts.
const trustedMs = 600_000;

/** The last writes of this process. The watch shows a write a moment later. Without these writes, a decision would be made twice. */
export class RecentWrites<Item extends KubeObject> {
  readonly #written = new Map<string, { readonly item: Item; readonly at: number }>();

  /** Keeps the object that a write returned; `now` is in ms. */
  add(key: string, item: Item, now: number): void {
    this.#written.set(key, { item, at: now });
  }

  /** Forgets an object that was deleted. */
  delete(key: string): void {
    this.#written.delete(key);
  }

  /** The newer of the watched and the written object. */
  newest(key: string, seen: Item | undefined, now: number): Item | undefined {
    const written = this.#written.get(key);
    if (written === undefined) return seen;
    const isOver = now - written.at > trustedMs;
    const isSeen = seen !== undefined && !isOlder(seen.metadata, written.item.metadata);
    if (!isOver && !isSeen) return written.item;
    this.#written.delete(key);
    return seen;
  }
}
