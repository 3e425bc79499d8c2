/** The command line cannot be understood; the message names what is wrong, `next` what to type instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly next: readonly string[];

  constructor(message: string, next: readonly string[] = []) {
    super(message);
    this.next = next;
  }
}
