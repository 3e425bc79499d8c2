import { parentPort, workerData } from "node:worker_threads";

import { type ProviderTask, readingOf } from "./provider-reader.ts";

const { source, roots }: ProviderTask = workerData;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(readingOf(source, roots));
