import { Follower } from "./follower.ts";

/** An abort signal that follows another one and can also run out; dispose it when the work is over. */
export class Deadline extends Follower {
  #timer: NodeJS.Timeout | undefined;

  constructor(outer: AbortSignal, timeoutMs: number) {
    super(outer);
    this.#timer = setTimeout(() => {
      this.abort(new DOMException("The deadline has passed", "TimeoutError"));
    }, timeoutMs);
  }

  /** The part that was limited is over; from now on only the outer signal aborts. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  override [Symbol.dispose](): void {
    this.clear();
    super[Symbol.dispose]();
  }
}
