import { Worker } from "node:worker_threads";

import { abortable } from "../../access/abortable.ts";
import { costProblem } from "../../access/providers/provider-document.ts";
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

/**
 * A reader for plugins below `roots`. What is long is read by a thread of its own, one after the other, until the signal is
 * aborted.
 */
export function createProviderReader(roots: readonly string[]): ProviderReader {
  let before: Promise<unknown> = Promise.resolve();
  return async (source, signal) => {
    if (source.text.length <= maxInline) return readingOf(source, roots);
    const cost = costProblem(source.text, source.format);
    if (cost !== undefined) return hopeless(cost);
    const turn = before.then(() => {
      signal.throwIfAborted();
      return readApart({ source, roots }, signal);
    });
    before = turn.catch(() => undefined);
    return turn;
  };
}

async function readApart(task: ProviderTask, signal: AbortSignal): Promise<ProviderReading> {
  const worker = new Worker(new URL("provider-worker.ts", import.meta.url), {
    workerData: task,
  });
  const { promise, resolve, reject } = Promise.withResolvers<ProviderReading>();
  worker.once("message", resolve).once("error", reject);
  try {
    return await abortable(promise, signal);
  } finally {
    await worker.terminate();
  }
}

function hopeless(problem: string): ProviderReading {
  return { file: undefined, problems: [problem], warnings: [] };
}
