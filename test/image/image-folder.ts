import { chmod, cp, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { distOfRun } from "../build/bundle-of-run.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { lastStage } from "../support/image-environment.ts";

/** A folder that holds what the image holds, at the same places; nothing in it can be written. */
export interface ImageFolder extends AsyncDisposable {
  /** Path here of a path in the image. */
  path(inImage: string): string;
}

/** Lays out the last stage of the Dockerfile, line by line: what it copies and nothing else. */
export async function layOutImage(): Promise<ImageFolder> {
  const root = await mkdtemp(join(tmpdir(), "knfleet-image-"));
  const path = (inImage: string) => join(root, inImage);
  for (const [, from = "", to = ""] of lastStage().matchAll(/^COPY --from=(\S+ \S+) (\S+)$/gm)) {
    await mkdir(dirname(path(to)), { recursive: true });
    await copy(from, path(to));
  }
  await setWritable(root, false);
  return {
    path,
    async [Symbol.asyncDispose]() {
      await setWritable(root, true);
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function copy(inStage: string, target: string): Promise<void> {
  // Big and unchanged: the Node of the tests, and verified release files.
  if (inStage === "node /usr/local/bin/node") return symlink(process.execPath, target);
  if (inStage === "build /releases") return symlink(await releaseDir(), target);
  if (inStage !== "build /dist") throw new Error(`Nobody knows what ${inStage} is`);
  await using dist = await distOfRun();
  await cp(dist.path(""), target, { recursive: true });
}

/** For whoever is not root, and is asked about no mode, this is what a read-only file system is. */
async function setWritable(root: string, isWritable: boolean): Promise<void> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory());
  const paths = [root, ...folders.map((entry) => join(entry.parentPath, entry.name))];
  for (const path of paths) await chmod(path, isWritable ? 0o755 : 0o555);
}
