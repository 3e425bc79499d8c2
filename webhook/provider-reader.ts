import { Worker } from "node:worker_threads";

import type { ProviderText } from "./provider-maps.ts";
import { type ProviderReading, readingOf } from "./provider-reading.ts";
import type { ProviderTask } from "./provider-worker.ts";

/** Reads provider files without ever holding the process up. */
export type ProviderReader = (
  source: ProviderText,
  signal: AbortSignal,
) => Promise<ProviderReading>;

// What the worst text of this length takes is some 50 ms on a busy machine.
const maxInline = 8 * 1024;
const maxCharacters = 256 * 1024;
const limitMs = 3_000;
// A file of 500 providers has fewer. With more of them the parser takes memory and time out of all proportion.
const maxParts = 20_000;

/**
 * A reader for plugins below `roots`. What is long is read by a thread of its own, one after the other; what takes longer than three seconds is a
 * problem of the text.
 */
export function createProviderReader(roots: readonly string[]): ProviderReader {
  let before: Promise<unknown> = Promise.resolve();
  return async (source, signal) => {
    if (source.text.length <= maxInline) return readingOf(source, roots);
    if (source.text.length > maxCharacters) return hopeless("it is larger than 256 KiB");
    if (partsIn(source.text) > maxParts) return hopeless(`it holds more than ${maxParts} parts`);
    const turn = before.then(() => {
      signal.throwIfAborted();
      return readApart({ source, roots });
    });
    before = turn.catch(() => undefined);
    return turn;
  };
}

async function readApart(task: ProviderTask): Promise<ProviderReading> {
  const worker = new Worker(new URL("provider-worker.ts", import.meta.url), {
    workerData: task,
  });
  const { promise, resolve, reject } = Promise.withResolvers<ProviderReading>();
  worker.once("message", resolve).once("error", reject);
  const late = setTimeout(
    () => resolve(hopeless("it takes too long to read; make it simpler")),
    limitMs,
  );
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    await worker.terminate();
  }
}

/** Characters that begin or end a part of JSON or YAML. */
function partsIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (structural.includes(text[at] ?? "")) count += 1;
  }
  return count;
}

const structural = "\n\r,:{}[]!&*?|>-#%@`";

function hopeless(problem: string): ProviderReading {
  return { file: undefined, problems: [problem], warnings: [] };
}
