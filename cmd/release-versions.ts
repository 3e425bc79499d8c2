import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

import { type ComponentKind, componentKinds } from "../api/component.ts";
import { newestFirst } from "../render/release/version.ts";

/** The versions of each kind that a folder holds, newest first. */
export type ReleaseVersions = Readonly<Record<ComponentKind, readonly string[]>>;

/** Lists the versions in a release folder; none in one that does not exist. */
export async function versionsIn(dir: string): Promise<ReleaseVersions> {
  return {
    KnativeServing: await foldersOf(join(dir, componentKinds.KnativeServing.label)),
    KnativeEventing: await foldersOf(join(dir, componentKinds.KnativeEventing.label)),
  };
}

/** The names of the folders in a folder, newest version first; none without that folder. */
export async function foldersOf(dir: string): Promise<readonly string[]> {
  const names = await readdir(dir).catch(() => []);
  const folders = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(dir, name)).catch(() => undefined);
      return found?.isDirectory() === true && !name.startsWith(".") ? [name] : [];
    }),
  );
  return folders.flat().toSorted(newestFirst);
}
