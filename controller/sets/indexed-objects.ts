import type { Clock } from "../../access/time/clock.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { RecentWrites } from "./recent-writes.ts";

/** Objects of the hub by group: each as the watch shows it, or as this process has written it until the watch shows the write. */
export class IndexedObjects<Item extends KubeObject> {
  readonly #clock: Clock;
  readonly #groupsOf: (item: Item) => readonly string[];
  readonly #seen = new Map<string, Item>();
  readonly #written = new RecentWrites<Item>();
  /** Keys by group. A key stays in a group as long as the seen or the written object is in it. */
  readonly #keys = new Map<string, Set<string>>();
  readonly #groups = new Map<string, ReadonlySet<string>>();

  constructor(clock: Clock, groupsOf: (item: Item) => readonly string[]) {
    this.#clock = clock;
    this.#groupsOf = groupsOf;
  }

  /** Notes what the watch shows. */
  see(key: string, item: Item): void {
    this.#seen.set(key, item);
    const newest = this.#written.newest(key, item, this.#clock.now()) ?? item;
    this.#regroup(key, [...this.#groupsOf(item), ...this.#groupsOf(newest)]);
  }

  /** Notes the object that a write returned. */
  add(key: string, item: Item, now: number): void {
    this.#written.add(key, item, now);
    this.#regroup(key, [...(this.#groups.get(key) ?? []), ...this.#groupsOf(item)]);
  }

  /** Forgets a write whose object the hub does not have any more. What the watch shows counts until it shows the deletion. */
  forgetWrite(key: string): void {
    this.#written.delete(key);
    const seen = this.#seen.get(key);
    this.#regroup(key, seen === undefined ? [] : this.#groupsOf(seen));
  }

  /** Forgets an object that was deleted. */
  delete(key: string): void {
    this.#seen.delete(key);
    this.#written.delete(key);
    this.#regroup(key, []);
  }

  /** The objects of a group. */
  in(group: string): readonly Item[] {
    const now = this.#clock.now();
    return [...(this.#keys.get(group) ?? [])].flatMap((key) => {
      const item = this.#written.newest(key, this.#seen.get(key), now);
      if (item === undefined) this.#regroup(key, []);
      return item !== undefined && this.#groupsOf(item).includes(group) ? [item] : [];
    });
  }

  #regroup(key: string, groups: readonly string[]): void {
    const next = new Set(groups);
    for (const group of this.#groups.get(key) ?? []) {
      if (next.has(group)) continue;
      const keys = this.#keys.get(group);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(group);
    }
    for (const group of next) {
      const keys = this.#keys.get(group) ?? new Set();
      this.#keys.set(group, keys.add(key));
    }
    if (next.size === 0) this.#groups.delete(key);
    else this.#groups.set(key, next);
  }
}
