/** What a service holds, each thing with a name for people. Disposing ends the last one first, one after the other. */
export class Resources implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack;
  readonly #names: string[];

  constructor(stack = new AsyncDisposableStack(), names: string[] = []) {
    this.#stack = stack;
    this.#names = names;
  }

  /** What has not ended yet and would be the next to end. */
  get last(): string | undefined {
    return this.#names.at(-1);
  }

  /** Takes over a thing and gives it back. */
  use<Thing extends Disposable | AsyncDisposable>(name: string, thing: Thing): Thing {
    this.#stack.defer(() => void this.#names.pop());
    this.#names.push(name);
    return this.#stack.use(thing);
  }

  /** The same things in other hands; this holds nothing any more. */
  move(): Resources {
    return new Resources(this.#stack.move(), this.#names);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
