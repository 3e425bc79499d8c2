import { readFile, stat } from "node:fs/promises";

import { FleetError } from "../api/errors.ts";
import type { Code } from "../api/reasons.ts";
import { type Clock, pause } from "./time/clock.ts";
import { isAborted } from "./time/deadline.ts";

export interface FileFollower<Content> {
  readonly clock: Clock;
  /** Reads and checks the file. */
  readonly load: (signal: AbortSignal) => Promise<Content>;
  /** The content that the caller has read already, so that a change before the first poll is not missed. */
  readonly known: Content;
  /** The file has a new, valid content. */
  readonly onChange: (content: Content) => void;
  /** The file was written and is valid, even if its content is the same. Called after `onChange`. */
  readonly onValid: () => void;
  /** The file is gone or its new content is not valid. The last valid content stays in use. */
  readonly onInvalid: (error: unknown) => void;
}

const pollMs = 500;
const longestRetryMs = 10_000;

/**
 * Follows a file until the signal aborts. It polls, because an update of a mounted ConfigMap only swaps a symlink, which file notifications miss.
 */
export async function followFile<Content>(
  path: string,
  { clock, load, known, onChange, onValid, onInvalid }: FileFollower<Content>,
  signal: AbortSignal,
): Promise<void> {
  let identity = "";
  let retryMs = pollMs;
  let retryAt = Infinity;
  let last = JSON.stringify(known);
  for (;;) {
    await pause(clock, pollMs, signal);
    if (isAborted(signal)) return;
    const now = await identityOf(path);
    const isSame = now === identity;
    if (isSame && clock.now() < retryAt) continue;
    try {
      const content = await load(signal);
      identity = now;
      retryAt = Infinity;
      const text = JSON.stringify(content);
      if (text !== last) onChange(content);
      last = text;
      onValid();
    } catch (error) {
      if (isAborted(signal)) return;
      if (!isSame) onInvalid(error);
      identity = now;
      // It is read again, because what failed may pass without a change of the file: it was replaced a moment ago, or no descriptor was free. Ever more rarely, because a large file takes long.
      retryMs = isSame ? Math.min(2 * retryMs, longestRetryMs) : pollMs;
      retryAt = clock.now() + retryMs;
    }
  }
}

export interface NamedFile {
  /** Name of the file in messages, for example `The provider file`. */
  readonly what: string;
  readonly path: string;
  /** Code of the error when the file cannot be read. */
  readonly code?: Code;
}

/** Reads the text of a file. Throws `FleetError` `ConfigInvalid`, whose message names the path. */
export async function fileText(
  { what, path, code }: NamedFile,
  signal: AbortSignal,
): Promise<string> {
  try {
    return await readFile(path, { encoding: "utf8", signal });
  } catch (cause) {
    signal.throwIfAborted();
    const why = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
    const options = code === undefined ? {} : { code };
    throw new FleetError("ConfigInvalid", `${what} ${path} cannot be read${why}`, options);
  }
}

async function identityOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch {
    return "absent";
  }
}
