import { Worker } from "node:worker_threads";

import { parseProviderFile, type ProviderFile } from "../../access/providers/provider-config.ts";
import { costProblem } from "../../access/providers/provider-document.ts";
import { providerStrictness } from "../../access/providers/provider-strictness.ts";
import { abortable } from "../../access/time/deadline.ts";
import { FleetError } from "../../api/errors.ts";
import type { ProviderText } from "./provider-maps.ts";

/** Reads provider files without blocking the process. */
export type ProviderReader = (
  source: ProviderText,
  signal: AbortSignal,
) => Promise<ProviderReading>;

// The worst text of this length takes some 50 ms on a busy machine.
const maxInline = 8 * 1024;

/**
 * A reader for plugins below `roots`. Long texts are read in a thread, one after the other, until the signal is
 * aborted.
 */
export function createProviderReader(roots: readonly string[]): ProviderReader {
  let before: Promise<unknown> = Promise.resolve();
  return async (source, signal) => {
    if (source.text.length <= maxInline) return readingOf(source, roots);
    const cost = costProblem(source.text, source.format);
    if (cost !== undefined) return unreadable(cost);
    const turn = before.then(() => {
      signal.throwIfAborted();
      return readInThread({ source, roots }, signal);
    });
    before = turn.catch(() => undefined);
    return turn;
  };
}

/** The input of the thread. */
export interface ProviderTask {
  readonly source: ProviderText;
  readonly roots: readonly string[];
}

async function readInThread(task: ProviderTask, signal: AbortSignal): Promise<ProviderReading> {
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

function unreadable(problem: string): ProviderReading {
  return { file: undefined, problems: [problem], warnings: [] };
}

/** A provider file with its problems and warnings. Each names its position and never quotes the text. */
export interface ProviderReading {
  /** Undefined when the controller could not read it either. */
  readonly file: ProviderFile | undefined;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Reads a provider file with the code of the controller, and then more strictly. A file of 8 KiB takes milliseconds, a hostile one of 256 KiB half a
 * minute, so call it only through a ProviderReader.
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
  const problems = [...strict, ...aboutOtherPlaces(strict, unusable)];
  return { file, problems, warnings: aboutOtherPlaces(problems, file.warnings) };
}

/** The texts about positions that no text in `said` is about. */
function aboutOtherPlaces(said: readonly string[], texts: readonly string[]): readonly string[] {
  const places = new Set(said.map(placeOf));
  return texts.filter((text) => !places.has(placeOf(text)));
}

function placeOf(text: string): string {
  return text.split("): ", 1)[0] ?? "";
}
