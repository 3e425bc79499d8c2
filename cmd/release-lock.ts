import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { getRawAsset, isSea } from "node:sea";

import { FleetError } from "../api/errors.ts";
import { jsonOf } from "../api/fields.ts";

/** A release file in the lock file. */
export interface LockedFile {
  /** Relative to the release directory, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
  /** Public URL of the file. */
  readonly url: string;
}

/** Content of `releases.lock.json`. */
export interface ReleaseLock {
  readonly repository: string;
  readonly commit: string;
  readonly files: readonly LockedFile[];
}

/** Name of the lock file in the folder of the program, or in the executable that `npm run executable` makes. */
export const lockName = "releases.lock.json";

/**
 * Reads the lock file of a folder; an executable has only the one that is in it. `hash`: the SHA-256 of its bytes. Throws FleetError ConfigInvalid.
 */
export async function readLock(root: string): Promise<ReleaseLock & { readonly hash: string }> {
  const path = join(root, lockName);
  const bytes = isSea()
    ? Buffer.from(getRawAsset(lockName))
    : await readFile(path).catch((cause: unknown) => {
        throw new FleetError("ConfigInvalid", `Lock file ${path} cannot be read`, { cause });
      });
  const lock = jsonOf(bytes.toString());
  if (!isLock(lock)) throw new FleetError("ConfigInvalid", `Lock file ${path} is not valid`);
  const { repository, commit, files } = lock;
  return { repository, commit, files, hash: sha256Of(bytes) };
}

/** The problem of the bytes of a file, as the end of a sentence. Undefined when they are correct. */
export function problemOf(bytes: Uint8Array, file: LockedFile): string | undefined {
  if (bytes.length !== file.bytes) return `has ${bytes.length} bytes instead of ${file.bytes}`;
  const actual = sha256Of(bytes);
  return actual === file.sha256 ? undefined : `has SHA-256 ${actual} instead of ${file.sha256}`;
}

/** Folders of the files in upstream's repository. Files without a row are in its data directory. */
const places: readonly (readonly [prefix: string, directory: string])[] = [
  ["LICENSE", "LICENSE"],
  ["crds/upstream/", "config/crd/bases/"],
  ["", "cmd/operator/kodata/"],
];

/** The lock of a mirror of one commit of upstream's repository. `sums`: its list of files. */
export async function lockOf(
  mirror: string,
  source: { readonly repository: string; readonly commit: string; readonly raw: string },
): Promise<ReleaseLock> {
  const { repository, commit, raw } = source;
  const paths = await readdir(mirror, { recursive: true, withFileTypes: true });
  const files = paths
    .filter((entry) => entry.isFile() && /\.yaml$|^LICENSE$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(mirror.length + 1))
    .toSorted();
  const locked = files.map(async (path): Promise<LockedFile> => {
    const bytes = await readFile(join(mirror, path));
    const [prefix, directory] = places.find(([start]) => path.startsWith(start)) ?? ["", ""];
    const url = `${raw}/${commit}/${directory}${path.slice(prefix.length)}`;
    return { path, bytes: bytes.length, sha256: sha256Of(bytes), url };
  });
  return { repository, commit, files: await Promise.all(locked) };
}

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function isLock(value: unknown): value is ReleaseLock {
  if (typeof value !== "object" || value === null) return false;
  if (!("repository" in value && "commit" in value && "files" in value)) return false;
  const { repository, commit, files } = value;
  if (typeof repository !== "string" || typeof commit !== "string") return false;
  return Array.isArray(files) && files.length > 0 && files.every(isLockedFile);
}

function isLockedFile(value: unknown): value is LockedFile {
  if (typeof value !== "object" || value === null) return false;
  if (!("path" in value && "bytes" in value && "sha256" in value && "url" in value)) return false;
  const { path, bytes, sha256, url } = value;
  // Never outside the directory: no `..`, no absolute path, no backslash.
  const safe = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/;
  return (
    matches(path, safe) &&
    Number.isSafeInteger(bytes) &&
    matches(sha256, /^[0-9a-f]{64}$/) &&
    matches(url, /^https?:\/\//)
  );
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === "string" && pattern.test(value);
}
