/** What became of Jobs that were there: one that is gone has done its work, one that only lost our label has not gone. */
export class VanishedJobs {
  readonly #seen = new Set<string>();
  readonly #strays = new Set<string>();

  /** A Job is there and known as ours. */
  saw(id: string): void {
    this.#seen.add(id);
    this.#strays.delete(id);
  }

  /** Whether a Job that is not to be seen is there without our label; `look` is asked once each time that it vanishes. */
  async isStray(id: string, look: () => Promise<boolean>): Promise<boolean> {
    if (this.#seen.has(id)) {
      const isThere = await look();
      this.#seen.delete(id);
      if (isThere) this.#strays.add(id);
    }
    return this.#strays.has(id);
  }
}
