import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { inject } from "vitest";

import { distFiles } from "../../cmd/build/build.ts";
import { bundle, type BundledFile } from "../../cmd/build/bundle.ts";
import { takeBuildLock } from "../fleet/build-lock.ts";
import type { DistFolder } from "./dist-folder.ts";

const project = resolve(import.meta.dirname, "../..");

/** The bundle of all programs. It is made once for a run of tests, because it takes many seconds of computing: the first that asks makes it, the others wait. */
export async function bundleOfRun(): Promise<readonly BundledFile[]> {
  const path = join(inject("runFolder"), "bundle.json");
  await using _lock = await takeBuildLock(`${path}.lock`, { onWait: () => undefined });
  if (!existsSync(path)) {
    await writeFile(`${path}.part`, JSON.stringify(await bundle(project)));
    await rename(`${path}.part`, path);
  }
  return JSON.parse(await readFile(path, "utf8"));
}

/** What `npm run build` makes, of that bundle; test/build/dist.test.ts holds that it is the same. */
export async function distOfRun(): Promise<DistFolder> {
  const files = distFiles(project, await bundleOfRun());
  const base = await mkdtemp(join(tmpdir(), "knfleet-dist-"));
  const folder = join(base, "dist");
  for (const { name, content, mode } of files) {
    // oxlint-disable-next-line no-await-in-loop -- one file after another
    await mkdir(dirname(join(folder, name)), { recursive: true });
    // oxlint-disable-next-line no-await-in-loop -- one file after another
    await writeFile(join(folder, name), content, { mode });
  }
  return {
    path: (name) => join(folder, name),
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}
