import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { connectionErrorOf } from "../access/kube/api-error.ts";
import { type Clock, delay } from "../access/time/clock.ts";
import { Deadline, withTimeout } from "../access/time/deadline.ts";
import { FleetError } from "../api/errors.ts";
import { type LockedFile, problemOf } from "./release-lock.ts";

/** The source of missing release files. */
export type ReleaseSource =
  | { readonly kind: "mirror"; readonly dir: string }
  | { readonly kind: "download" };

const attempts = 3;
const attemptTimeoutMs = 30_000;
/** A server that sends no byte for so long is given up. */
const silenceMs = 5_000;

/** Why the release files cannot be had, as the end of a sentence; without a source nothing was fetched. */
export function releasesUnavailable(
  why: string,
  { kind, cause }: { readonly kind?: ReleaseSource["kind"]; readonly cause?: unknown } = {},
): FleetError {
  const how = { mirror: " and cannot be copied", download: " and cannot be downloaded" };
  const tried = kind === undefined ? "" : how[kind];
  const text = `Knative's release files are not on this machine${tried}: ${why}`;
  return new FleetError("ReleasesUnavailable", text, { cause });
}

interface Fetching {
  readonly clock: Clock;
  readonly source: ReleaseSource;
  /** True for the first file of all. A server that has not begun to send it after 5 s is given up, even if it has answered with errors. */
  readonly isFirst: boolean;
}

/** Fetches and verifies the bytes of a file. Throws FleetError ReleasesUnavailable, or the reason of the signal. */
export async function fetchFile(
  file: LockedFile,
  { clock, source, isFirst }: Fetching,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { kind } = source;
  const from = kind === "mirror" ? join(source.dir, file.path) : file.url;
  const bytes = await (kind === "mirror"
    ? readMirror(from, signal)
    : download(file, { clock, isFirst }, signal));
  const problem = problemOf(bytes, file);
  if (problem !== undefined)
    throw releasesUnavailable(`${file.path} from ${from} ${problem}`, { kind });
  return bytes;
}

async function readMirror(path: string, signal: AbortSignal): Promise<Uint8Array> {
  signal.throwIfAborted();
  return readFile(path, { signal }).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw releasesUnavailable(`${path} cannot be read`, { kind: "mirror", cause });
  });
}

async function download(
  { url, bytes }: LockedFile,
  { clock, isFirst }: Pick<Fetching, "clock" | "isFirst">,
  signal: AbortSignal,
): Promise<Uint8Array> {
  using connecting = isFirst ? new Deadline(clock, silenceMs, signal) : undefined;
  const limit = connecting?.signal ?? signal;
  let before: Failure | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const result = await tryDownload({ clock, url, bytes, connecting }, signal);
    if (result instanceof Uint8Array) return result;
    if (!result.again || attempt === attempts) {
      // What a server answered says more than its silence afterwards.
      const { problem, cause } = limit.aborted ? (before ?? result) : result;
      throw releasesUnavailable(problem, { kind: "download", cause });
    }
    before = result;
    await delay(clock, 250 * 2 ** attempt, limit).catch(() => signal.throwIfAborted());
  }
}

/** The server of these files, as messages name it. */
export function serverOf([file]: readonly Pick<LockedFile, "url">[]): string {
  return file === undefined ? "nowhere" : new URL(file.url).host;
}

interface Wanted extends Pick<LockedFile, "url" | "bytes"> {
  readonly clock: Clock;
  /** The time limit for the first file, which ends when the file begins. */
  readonly connecting: Deadline | undefined;
}

interface Failure {
  readonly problem: string;
  readonly again: boolean;
  readonly cause?: unknown;
}

async function tryDownload(
  { clock, url, bytes, connecting }: Wanted,
  signal: AbortSignal,
): Promise<Uint8Array | Failure> {
  using silence = new Deadline(clock, silenceMs, connecting?.signal ?? signal);
  const deadline = withTimeout(clock, attemptTimeoutMs, silence.signal);
  let mayTryAgain = connecting === undefined;
  let hasBegun = false;
  try {
    const response = await fetch(url, { signal: deadline });
    mayTryAgain = true;
    silence.restart();
    const { ok, status, body } = response;
    if (ok && body !== null) {
      connecting?.clear();
      hasBegun = true;
      return await readBody(body, { bytes, onChunk: () => silence.restart() });
    }
    await body?.cancel();
    const again = status >= 500 || status === 429;
    return { problem: `${url} was answered with HTTP status ${status}`, again };
  } catch (cause) {
    signal.throwIfAborted();
    const server = new URL(url).host;
    if (silence.signal.aborted) {
      const limit = `${silenceMs / 1_000} s`;
      const still = `${server} has sent nothing of ${url} for ${limit}`;
      return {
        problem: hasBegun ? still : `${server} did not answer within ${limit}`,
        again: false,
      };
    }
    return { ...failureOf(cause, server), again: mayTryAgain };
  }
}

function failureOf(error: unknown, server: string): Pick<Failure, "problem" | "cause"> {
  // What fetch throws says only that it failed.
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return { problem: connectionErrorOf(cause, server).message, cause };
}

/** Reads at most one byte more than expected, which shows that a file is too long, whatever the server sends. */
async function readBody(
  body: ReadableStream<Uint8Array>,
  { bytes, onChunk }: { readonly bytes: number; readonly onChunk: () => void },
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    onChunk();
    chunks.push(chunk);
    length += chunk.length;
    if (length > bytes) break;
  }
  return Buffer.concat(chunks);
}
