import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";

import { FleetError } from "../api/errors.ts";
import { type Manifest, nameFirst } from "../api/kubernetes.ts";
import {
  BoundedCache,
  type Releases,
  type Rendered,
  parseReleaseFile,
} from "../render/release/releases.ts";
import { findReleases, type FindReleasesOptions } from "./find-releases.ts";
import { foldersOf, versionsIn } from "./release-versions.ts";

// A parsed version takes about 3 MB. Two kinds in two versions with ingress and sources fit.
const partsRemembered = 12;
// Rendered sets share their large parts (CRDs) with the parsed versions.
const setsRemembered = 32;

/** Finds the folder with the release files and opens it. Throws FleetError. */
export async function openFoundReleases(
  options: FindReleasesOptions,
  signal: AbortSignal,
): Promise<Releases> {
  return await openReleases((await findReleases(options, signal)).dir);
}

/** Opens a release directory, which has to be there. */
export async function openReleases(dir: string): Promise<Releases> {
  const root = await realpath(dir);
  const versions = await versionsIn(root);
  const parsed = new BoundedCache<readonly Manifest[]>(partsRemembered);
  return {
    dir: root,
    versionsOf: (kind) => versions[kind],
    load: (part) => parsed.get(part, () => readPart(root, part)),
    rendered: new BoundedCache<Rendered>(setsRemembered),
  };
}

async function readPart(root: string, part: string): Promise<readonly Manifest[]> {
  const seen = new Set<string>();
  const manifests: Manifest[] = [];
  for (const name of await fileNamesOf(root, part)) {
    const path = `${part}/${name}`;
    const text = await readInside(root, path);
    if (text !== undefined) manifests.push(...(await parseReleaseFile(path, text, seen)));
  }
  if (manifests.length === 0) {
    throw new FleetError("ManifestInvalid", `There is no object in the release files of ${part}`);
  }
  return manifests;
}

async function fileNamesOf(root: string, part: string): Promise<readonly string[]> {
  if (!/^[\w][\w.-]*(?:\/[\w][\w.-]*)*$/.test(part)) throw notFound(part);
  const names = await readdir(join(root, part)).catch(async (cause: unknown) => {
    throw notFound(part, { beside: await foldersOf(join(root, dirname(part))), cause });
  });
  // The numbers at the start of the names define the order.
  return names.filter((name) => /^[^.].*\.(?:ya?ml|json)$/.test(name)).toSorted();
}

/** Reads the text of a file. Undefined for a folder. A link may lead to another file of the directory, but not out of it. */
async function readInside(root: string, path: string): Promise<string | undefined> {
  try {
    const target = await realpath(join(root, path));
    if (!target.startsWith(root + sep)) {
      throw new FleetError(
        "ManifestInvalid",
        `Release file ${path} is a link that leads out of the release directory`,
      );
    }
    return (await stat(target)).isDirectory() ? undefined : await readFile(target, "utf8");
  } catch (error) {
    if (error instanceof FleetError) throw error;
    throw new FleetError("ManifestInvalid", `Release file ${path} cannot be read`, {
      cause: error,
    });
  }
}

const maxNamed = 8;
const partOfRelease = /^(?:ingress|eventing-source|security-guard)\//;

/** `beside`: the folders beside the missing part; undefined when the name of the part is not valid. */
function notFound(
  part: string,
  { beside, cause }: { readonly beside?: readonly string[]; readonly cause?: unknown } = {},
): FleetError {
  const reason = partOfRelease.test(part) ? "ReleasePartNotFound" : "ReleaseNotFound";
  const known = beside?.length === 0 ? "nothing" : nameFirst(beside ?? [], maxNamed);
  const more = beside === undefined ? "" : `; it has ${known} in ${dirname(part)}`;
  return new FleetError(reason, `The release directory holds no ${part}${more}`, { cause });
}
