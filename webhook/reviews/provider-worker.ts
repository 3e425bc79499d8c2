import { parentPort, workerData } from "node:worker_threads";

import type { ProviderText } from "./provider-maps.ts";
import { readingOf } from "./provider-reading.ts";

/** What the worker is started with. */
export interface ProviderTask {
  readonly source: ProviderText;
  readonly roots: readonly string[];
}

const { source, roots }: ProviderTask = workerData;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(readingOf(source, roots));
