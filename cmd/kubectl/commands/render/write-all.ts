import { once } from "node:events";
import { Writable } from "node:stream";

import type { Output } from "../../output/terminal.ts";

/** Writes a long text without keeping more of it in memory than the reader has left unread. */
export async function writeAll(
  output: Output,
  pieces: Iterable<string>,
  signal: AbortSignal,
): Promise<void> {
  for (const piece of pieces) {
    const isTaken = output.write(piece) !== false;
    if (!isTaken && output instanceof Writable) await once(output, "drain", { signal });
  }
}
