// More objects than an installation has. A cluster may tell of others without end, and one more attempt handles them all.
const mostObjects = 10_000;

/** Changes that come while one attempt runs, and that only the next attempt handles. */
export class PendingChanges {
  #hasComponentChange = false;
  /** Identities. */
  readonly #objects = new Set<string>();

  /** The component needs another attempt. */
  noteComponentChange(): void {
    this.#hasComponentChange = true;
  }

  /** An object was changed or deleted, by this process or by others. */
  noteObjectChange(id: string): void {
    if (this.#objects.size < mostObjects) this.#objects.add(id);
    else this.#hasComponentChange = true;
  }

  /** Drops the changes of objects up to now: the plan of the attempt includes them. */
  dropPlanned(ids: Iterable<string>): void {
    for (const id of ids) this.#objects.delete(id);
  }

  /** Drops the changes of an object that the attempt has finished: they were its own write, came before it, or are checked in any case. */
  dropSettled(id: string): void {
    this.#objects.delete(id);
  }

  /** Whether a change waits for the end of the attempt, other than those of objects that the attempt still sends. */
  hasOthersThan(open: ReadonlySet<string>): boolean {
    return this.#hasComponentChange || [...this.#objects].some((id) => !open.has(id));
  }
}
