/** A check could not be asked. The message is a sentence for the author of the set, and may quote what a server says, bounded. */
export class Unasked extends Error {
  override readonly name = "Unasked";
}
