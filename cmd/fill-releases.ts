import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Clock } from "../access/time/clock.ts";
import { Follower } from "../access/time/deadline.ts";
import { FleetError } from "../api/errors.ts";
import type { LockedFile } from "./release-lock.ts";
import { fetchFile, type ReleaseSource, releasesUnavailable, serverOf } from "./release-sources.ts";

/** One file was fetched and verified. */
export interface ReleaseProgress {
  readonly source: ReleaseSource["kind"];
  readonly path: string;
  /** Files fetched so far, of those that had to be fetched. */
  readonly done: number;
  readonly total: number;
}

/** The files that a release directory lacks, and where they come from. */
export interface Fill {
  readonly clock: Clock;
  readonly dir: string;
  readonly missing: readonly LockedFile[];
  readonly source: ReleaseSource;
  readonly onProgress?: ((progress: ReleaseProgress) => void) | undefined;
  /** Gets a line for the user when a download takes longer than a second. */
  readonly onSlow?: ((line: string) => void) | undefined;
}

const slowAfterMs = 1_000;
const fetchesAtOnce = 8;

/**
 * Fetches and verifies the missing files. Throws FleetError ReleasesUnavailable, also when the time of the signal is over, and ConfigInvalid for a
 * directory that cannot be written. What was fetched stays, so that the next call goes on from there.
 */
export async function fillReleases(fill: Fill, signal: AbortSignal): Promise<void> {
  const { clock, source, missing, onProgress, onSlow } = fill;
  const from = source.kind === "mirror" ? source.dir : serverOf(missing);
  const line = `Knative's release files are not on this machine: downloading them from ${from}`;
  const say = source.kind === "mirror" ? undefined : onSlow;
  using _slow = clock.after(slowAfterMs, () => say?.(line));
  let done = 0;
  const count = (progress: ReleaseProgress): void => {
    done = progress.done;
    onProgress?.(progress);
  };
  try {
    await fetchAll({ ...fill, onProgress: count }, signal);
  } catch (error) {
    if (!signal.aborted || !isTimeout(signal.reason)) throw error;
    const came = `${done} of ${missing.length} files had come from ${from}`;
    throw releasesUnavailable(`the time was over when ${came}`, { kind: source.kind });
  }
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}

/**
 * When several files fail, throws the error of the file that stands first in the lock: files after a failed one are given up, files before it are waited for.
 * The first file is fetched alone, so that a silent source is noticed at once.
 */
async function fetchAll({ missing, ...fill }: Fill, signal: AbortSignal): Promise<void> {
  const { clock, dir, source, onProgress } = fill;
  const queue = missing.entries();
  let done = 0;
  const failures: { readonly at: number; readonly error: unknown }[] = [];
  const running = new Map<number, Follower>();
  const work = async (most = Infinity): Promise<void> => {
    for (let taken = 0; taken < most && failures.length === 0; taken += 1) {
      const next = queue.next();
      if (next.done === true) return;
      const [at, file] = next.value;
      using follower = new Follower(signal);
      running.set(at, follower);
      try {
        const bytes = await fetchFile(file, { clock, source, isFirst: at === 0 }, follower.signal);
        await writeWhole(join(dir, file.path), bytes);
        done += 1;
        onProgress?.({ source: source.kind, path: file.path, done, total: missing.length });
      } catch (error) {
        failures.push({ at, error });
        for (const [other, later] of running) if (other > at) later.abort(error);
      } finally {
        running.delete(at);
      }
    }
  };
  await work(1);
  await Promise.all(Array.from({ length: fetchesAtOnce }, () => work()));
  const [first] = failures.toSorted((a, b) => a.at - b.at);
  if (first !== undefined) throw first.error;
}

/** Writes a file under another name and renames it, so that it never exists in part. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.${randomUUID()}.part`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(temporary, bytes, { flag: "wx" });
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new FleetError("ConfigInvalid", `Release file ${path} cannot be written`, { cause });
  }
}
