import { stat } from "node:fs/promises";
import { resolve } from "node:path";

import { FleetError } from "../api/errors.ts";
import {
  type EnsuredReleases,
  ensureReleases,
  type EnsureReleasesOptions,
} from "./release-files.ts";
import { versionsIn } from "./release-versions.ts";

/** The variable that names a folder with release files, for every program. */
const releaseDirVariable = "KNFLEET_RELEASE_DIR";

export interface FindReleasesOptions extends Omit<EnsureReleasesOptions, "dir"> {
  /** The folder of `--release-dir`. */
  readonly named?: string | undefined;
  /** The folder of the settings file. */
  readonly settled?: string | undefined;
  /** Used when nothing names a folder and this one exists. */
  readonly usual?: string;
}

export interface FoundReleases extends Omit<EnsuredReleases, "source"> {
  /** `named`: a folder that is used as it is, with any part of any release. */
  readonly source: EnsuredReleases["source"] | "named";
}

/**
 * Finds the folder with the release files, for every program: the named one, that of KNFLEET_RELEASE_DIR, that of the settings file, the usual one, else the
 * cache, which is filled from the mirror or by a download. Throws FleetError: ConfigInvalid for a folder that is none or holds no version, and what
 * `ensureReleases` throws.
 */
export async function findReleases(
  { named = "", settled = "", usual = "", ...options }: FindReleasesOptions,
  signal: AbortSignal,
): Promise<FoundReleases> {
  const places = [
    { by: "--release-dir", folder: named },
    { by: releaseDirVariable, folder: options.environment[releaseDirVariable] ?? "" },
    { by: "the settings file", folder: settled },
    { by: undefined, folder: (await isFolder(usual)) ? usual : "" },
  ];
  const place = places.find(({ folder }) => folder !== "");
  if (place === undefined) return await ensureReleases(options, signal);
  const dir = resolve(place.folder);
  const versions = await versionsIn(dir);
  if (Object.values(versions).some((list) => list.length > 0)) return { dir, source: "named" };
  const whose = place.by === undefined ? "" : `, which ${place.by} names,`;
  const text = `Release directory ${dir}${whose} ${await problemOf(dir)}`;
  throw new FleetError("ConfigInvalid", text);
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true;
}

/** Why no release was found in a folder. */
async function problemOf(dir: string): Promise<string> {
  const found = await stat(dir).catch(() => undefined);
  if (found === undefined) return "does not exist";
  if (!found.isDirectory()) return "is no folder";
  return "holds no version of knative-serving or knative-eventing";
}
