import { Worker } from "node:worker_threads";

import { abortable } from "../../access/deadline.ts";
import { parseProviderFile, type ProviderFile } from "../../access/providers/provider-config.ts";
import { costProblem } from "../../access/providers/provider-document.ts";
import { providerStrictness } from "../../access/providers/provider-strictness.ts";
import { FleetError } from "../../api/errors.ts";
import type { ProviderText } from "./provider-maps.ts";

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

/** What the thread is started with. */
export interface ProviderTask {
  readonly source: ProviderText;
  readonly roots: readonly string[];
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

/** What one provider file is, and what is wrong and odd about it; each with its position and without its text. */
export interface ProviderReading {
  /** Undefined when the controller could not read it either. */
  readonly file: ProviderFile | undefined;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Reads a provider file with the code of the controller, and then more strictly. A file of 8 KiB takes milliseconds, a hostile one of 256 KiB half a
 * minute: provider-reader.ts knows where.
 */
export function readingOf(
  { text, format }: ProviderText,
  roots: readonly string[],
): ProviderReading {
  let file: ProviderFile;
  try {
    file = parseProviderFile(text, { path: "", format });
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const [, what = "it cannot be read"] = error.message.split(" is not usable: ");
    return { file: undefined, problems: [what], warnings: [] };
  }
  const strict = providerStrictness(text, { format, roots });
  const unusable = file.providers.flatMap(({ problem = "" }) => (problem === "" ? [] : [problem]));
  const problems = [...strict, ...elsewhere(strict, unusable)];
  return { file, problems, warnings: elsewhere(problems, file.warnings) };
}

/** The texts about places of which nothing has been said already. */
function elsewhere(said: readonly string[], texts: readonly string[]): readonly string[] {
  const places = new Set(said.map(placeOf));
  return texts.filter((text) => !places.has(placeOf(text)));
}

function placeOf(text: string): string {
  return text.split("): ", 1)[0] ?? "";
}
