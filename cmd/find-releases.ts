import { stat } from "node:fs/promises";
import { resolve } from "node:path";

import {
  type EnsuredReleases,
  ensureReleases,
  type EnsureReleasesOptions,
} from "./release-files.ts";

/** The variable that names a folder with release files, for every program. */
const releaseDirVariable = "KNFLEET_RELEASE_DIR";

export interface FindReleasesOptions extends Omit<EnsureReleasesOptions, "dir"> {
  /** The folder of `--release-dir`, or of the settings file. */
  readonly named?: string | undefined;
  /** Used when nothing names a folder and this one exists. */
  readonly usual?: string;
}

export interface FoundReleases extends Omit<EnsuredReleases, "source"> {
  /** `named`: a folder that is used as it is, with any part of any release. */
  readonly source: EnsuredReleases["source"] | "named";
}

/**
 * Finds the folder with the release files, for every program: the named one, that of KNFLEET_RELEASE_DIR, the usual one, else the cache, which is filled
 * from the mirror or by a download. Throws FleetError when the cache cannot be filled.
 */
export async function findReleases(
  { named = "", usual, ...options }: FindReleasesOptions,
  signal: AbortSignal,
): Promise<FoundReleases> {
  const folder = named === "" ? (options.environment[releaseDirVariable] ?? "") : named;
  if (folder !== "") return { dir: resolve(folder), source: "named" };
  if (usual !== undefined && (await isFolder(usual))) return { dir: usual, source: "named" };
  return await ensureReleases(options, signal);
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
