/** What happens while an attempt runs that only the next one looks at. */
export class Awaiting {
  #hasNews = false;
  /** Identities. */
  readonly #changed = new Set<string>();

  /** An attempt begins. */
  begin(): void {
    this.#hasNews = false;
    this.#changed.clear();
  }

  /** Something else is wanted than what the attempt works on. */
  news(): void {
    this.#hasNews = true;
  }

  /** An object was changed or deleted, by us or by somebody else. */
  changed(id: string): void {
    this.#changed.add(id);
  }

  /** The attempt knows of everything that was told so far of these objects. */
  planned(ids: Iterable<string>): void {
    for (const id of ids) this.#changed.delete(id);
  }

  /** The attempt is done with an object. What was told of it until now was that very write, what came before it, or is looked at in any case. */
  settled(id: string): void {
    this.#changed.delete(id);
  }

  /** Whether anything waits for the end of the attempt; not for objects that it has yet to send. */
  isBeside(open: ReadonlySet<string>): boolean {
    return this.#hasNews || [...this.#changed].some((id) => !open.has(id));
  }
}
