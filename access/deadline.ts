/** An abort signal that follows another one and can also run out; dispose it when the work is over. */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  /** The signal that is followed. */
  readonly outer: AbortSignal;
  readonly #follow: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(outer: AbortSignal, timeoutMs: number) {
    this.outer = outer;
    this.#follow = () => this.#controller.abort(outer.reason);
    if (outer.aborted) this.#follow();
    else outer.addEventListener("abort", this.#follow, { once: true });
    this.#timer = setTimeout(() => {
      this.#controller.abort(new DOMException("The deadline has passed", "TimeoutError"));
    }, timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The part that was limited is over; from now on only the outer signal aborts. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  [Symbol.dispose](): void {
    this.clear();
    this.outer.removeEventListener("abort", this.#follow);
  }
}
