/**
 * An abort signal that aborts with another one, until it is disposed. For what may listen for as long as the signal lives: Node does so
 * for each socket that is given one, and the socket is held in memory as long.
 */
export class Follower implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #follow: () => void;

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    this.#follow = () => this.abort(outer.reason);
    if (outer.aborted) this.#follow();
    else outer.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts it alone. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#outer.removeEventListener("abort", this.#follow);
  }
}
