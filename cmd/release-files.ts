import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, relative, resolve, sep } from "node:path";

import type { Clock } from "../access/time/clock.ts";
import { systemClock } from "../access/time/system-clock.ts";
import { FleetError } from "../api/errors.ts";
import { type Fill, fillReleases } from "./fill-releases.ts";
import { type LockedFile, problemOf, readLock, type ReleaseLock } from "./release-lock.ts";
import { type ReleaseSource, releasesUnavailable } from "./release-sources.ts";

export interface EnsureReleasesOptions extends Pick<Fill, "onProgress" | "onSlow"> {
  /** The process environment. Uses KNFLEET_RELEASE_MIRROR, KNFLEET_CACHE_DIR and XDG_CACHE_HOME. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Directory to fill. Default: the cache folder of the lock file. */
  readonly dir?: string;
  /** Use the sample release of the project when the real one is not available. */
  readonly allowSample?: boolean;
  /** Copy or download the files that the directory lacks. False writes nothing. Default true. */
  readonly fetches?: boolean;
  /** Project root. Default: that of this file. */
  readonly root?: string;
  /** For the time limits of a download. Default: the clock of this machine. */
  readonly clock?: Clock;
}

export interface EnsuredReleases {
  readonly dir: string;
  /** Source of the files that were missing in the directory. `cache`: none was missing. */
  readonly source: ReleaseSource["kind"] | "cache" | "sample";
  /** Why only the sample is available, for the user. */
  readonly sampleBecause?: FleetError;
}

const projectRoot = resolve(import.meta.dirname, "..");

/**
 * Fills a release directory with every file of `releases.lock.json`, and verifies each byte. Keeps correct files, so that it can be interrupted and repeated.
 * Throws FleetError ReleasesUnavailable or ConfigInvalid, which says why.
 */
export async function ensureReleases(
  options: EnsureReleasesOptions,
  signal: AbortSignal,
): Promise<EnsuredReleases> {
  const { clock = systemClock, root = projectRoot, environment, onProgress, onSlow } = options;
  const lock = await readLock(root);
  const dir = options.dir ?? cacheDirOf(environment, lock.hash);
  try {
    const missing = (await problemsOf(dir, lock.files)).map(({ file }) => file);
    if (missing.length === 0) return { dir, source: "cache" };
    if (options.fetches === false) {
      throw releasesUnavailable(`${missing.length} files are not in ${dir}`);
    }
    const source = await sourceOf(environment, root);
    await fillReleases({ clock, dir, missing, source, onProgress, onSlow }, signal);
    return { dir, source: source.kind };
  } catch (error) {
    if (options.allowSample !== true || !(error instanceof FleetError)) throw error;
    return { dir: sampleDirOf(root), source: "sample", sampleBecause: error };
  }
}

/** Checks a release directory. Returns a sentence for each missing or wrong file. Fetches nothing. */
export async function checkReleases(
  options: Pick<EnsureReleasesOptions, "environment" | "dir" | "root">,
): Promise<{ readonly dir: string; readonly problems: readonly string[] }> {
  const lock = await readLock(options.root ?? projectRoot);
  const dir = options.dir ?? cacheDirOf(options.environment, lock.hash);
  const problems = await problemsOf(dir, lock.files);
  const foreign = await findForeignFiles(dir, lock.files);
  return {
    dir,
    problems: [
      ...problems.map(({ file, problem }) => `${file.path} ${problem}`),
      ...foreign.map((path) => `${path} is not in releases.lock.json`),
    ],
  };
}

/** Reads the lock file of the releases of this program. Throws FleetError ConfigInvalid. */
export async function readReleaseLock(root: string = projectRoot): Promise<ReleaseLock> {
  return await readLock(root);
}

/** Finds files in the folders of the lock that the lock does not list: the controller would install them, too. */
async function findForeignFiles(
  dir: string,
  files: readonly LockedFile[],
): Promise<readonly string[]> {
  const known = new Set(files.map(({ path }) => path));
  const folders = new Set(files.flatMap(({ path }) => path.split("/").slice(0, -1).slice(0, 1)));
  const found = await Promise.all(
    Array.from(folders, async (folder) => {
      const options = { recursive: true, withFileTypes: true } as const;
      const entries = await readdir(join(dir, folder), options).catch(() => []);
      return entries
        .filter((entry) => !entry.isDirectory())
        .map((entry) => relative(dir, join(entry.parentPath, entry.name)).split(sep).join("/"));
    }),
  );
  return found
    .flat()
    .filter((path) => !known.has(path))
    .toSorted();
}

/** The folder of the committed sample release. */
export function sampleDirOf(root: string = projectRoot): string {
  return join(root, "test/fixtures/release");
}

/** Finds the local copy of the release files: KNFLEET_RELEASE_MIRROR, or else `../shared/manifests`. Undefined without one. */
export async function findMirror(
  environment: Readonly<Record<string, string | undefined>>,
  root: string = projectRoot,
): Promise<string | undefined> {
  const named = environment["KNFLEET_RELEASE_MIRROR"] ?? "";
  const dir = named === "" ? resolve(root, "../shared/manifests") : resolve(named);
  const found = await stat(dir).catch(() => undefined);
  if (found?.isDirectory() === true) return dir;
  if (named === "") return undefined;
  throw new FleetError("ConfigInvalid", `KNFLEET_RELEASE_MIRROR is not a directory: ${dir}`);
}

async function sourceOf(
  environment: Readonly<Record<string, string | undefined>>,
  root: string,
): Promise<ReleaseSource> {
  const dir = await findMirror(environment, root);
  return dir === undefined ? { kind: "download" } : { kind: "mirror", dir };
}

/** A changed lock file gets a new folder, without old files. */
function cacheDirOf(
  environment: Readonly<Record<string, string | undefined>>,
  lockHash: string,
): string {
  const own = environment["KNFLEET_CACHE_DIR"] ?? "";
  const shared = environment["XDG_CACHE_HOME"] ?? "";
  const base =
    own === "" ? join(shared === "" ? join(homedir(), ".cache") : shared, "knfleet") : own;
  return join(resolve(base), releasesFolder(lockHash));
}

/** The name in the cache of the folder with the files of a lock. */
export function releasesFolder(lockHash: string): string {
  return `releases-${lockHash.slice(0, 16)}`;
}

async function problemsOf(
  dir: string,
  files: readonly LockedFile[],
): Promise<readonly { readonly file: LockedFile; readonly problem: string }[]> {
  const found = await Promise.all(
    files.map(async (file) => {
      const path = join(dir, file.path);
      const bytes = await readFile(path).catch(() => undefined);
      const problem = bytes === undefined ? "is missing" : problemOf(bytes, file);
      // A link may lead to another file later. Security: T-35.
      const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
      if (isLink) return [{ file, problem: "is a link" }];
      return problem === undefined ? [] : [{ file, problem }];
    }),
  );
  return found.flat();
}
