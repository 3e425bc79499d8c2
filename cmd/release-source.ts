import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { FleetError } from "../api/errors.ts";
import { type LockedFile, problemOf } from "./release-lock.ts";

/** Where missing release files come from. */
export type ReleaseSource =
  | { readonly kind: "mirror"; readonly dir: string }
  | { readonly kind: "download" };

const attempts = 3;
const attemptTimeoutMs = 30_000;

/** The verified bytes of a file. Throws FleetError ReleaseNotFound, which names file, source and what was wrong. */
export async function fetchFile(
  file: LockedFile,
  source: ReleaseSource,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const from = source.kind === "mirror" ? join(source.dir, file.path) : file.url;
  const bytes = await (source.kind === "mirror" ? readMirror(from) : download(file, signal));
  const problem = problemOf(bytes, file);
  if (problem !== undefined) throw failed(`${file.path} from ${from} ${problem}`);
  return bytes;
}

async function readMirror(path: string): Promise<Uint8Array> {
  return readFile(path).catch((cause: unknown) => {
    throw failed(`${path} cannot be read`, cause);
  });
}

async function download(file: LockedFile, signal: AbortSignal): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await tryDownload(file, signal);
    if (result instanceof Uint8Array) return result;
    if (!result.again || attempt === attempts) {
      throw failed(`${file.path} from ${file.url} ${result.problem}`, result.cause);
    }
    await setTimeout(250 * 2 ** attempt, undefined, { signal });
  }
}

interface Failure {
  readonly problem: string;
  readonly again: boolean;
  readonly cause?: unknown;
}

async function tryDownload(file: LockedFile, signal: AbortSignal): Promise<Uint8Array | Failure> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(attemptTimeoutMs)]);
  try {
    const response = await fetch(file.url, { signal: deadline });
    if (response.ok && response.body !== null) return await readBody(response.body, file.bytes);
    await response.body?.cancel();
    return {
      problem: `was answered with HTTP status ${response.status}`,
      again: response.status >= 500 || response.status === 429,
    };
  } catch (cause) {
    signal.throwIfAborted();
    return { problem: "could not be downloaded", again: true, cause };
  }
}

/** Reads at most one byte more than expected: enough to see that the file is too long, whatever the server sends. */
async function readBody(body: ReadableStream<Uint8Array>, bytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > bytes) break;
  }
  return Buffer.concat(chunks);
}

function failed(problem: string, cause?: unknown): FleetError {
  return new FleetError("ReleaseNotFound", `Release file ${problem}`, { cause });
}
