/**
 * Whether this process may change anything on any cluster at this moment. Asked as late as can be: when a request that changes something is
 * about to go onto its connection, and again for each repetition of it.
 */
export type MayWrite = () => boolean;

/** A request that would have changed something was not sent: another process may be the one that writes. */
export class WriteRefusedError extends Error {
  override readonly name = "WriteRefusedError";

  constructor() {
    super("Nothing may be written: this process does not hold the Lease");
  }
}

/** Throws WriteRefusedError unless a request with this method may be sent now. */
export function assertMayWrite(method: string, mayWrite: MayWrite): void {
  if (method !== "GET" && !mayWrite()) throw new WriteRefusedError();
}
