import type { NewEvent } from "../events.ts";

/** What the Events of one installation have told, so that the next attempts do not repeat it. */
export class ToldEvents {
  /** Uids of the Jobs whose failure had an Event. */
  readonly jobs = new Set<string>();
  readonly #recorded = new Set<string>();
  /** The spokes that share the token of its cluster. */
  #sharers = "";

  /** Records an Event, unless the same was recorded. One that could not be recorded is tried again the next time. */
  async recordOnce(event: NewEvent, record: (event: NewEvent) => Promise<void>): Promise<void> {
    const text = `${event.reason} ${event.message}`;
    if (this.#recorded.has(text)) return;
    await record(event);
    this.#recorded.add(text);
  }

  /** Whether a token is shared, and with other spokes than the last time. */
  takeSharers(sharers: readonly string[]): boolean {
    const before = this.#sharers;
    this.#sharers = sharers.join();
    return sharers.length > 0 && this.#sharers !== before;
  }
}
