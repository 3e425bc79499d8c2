import { cp, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { releaseDir } from "../e2e/release-dir.ts";
import { isRecord, valueAt } from "../fleet/json-record.ts";

const project = resolve(import.meta.dirname, "../..");

/** A folder that holds what the image holds, at the same places. */
export interface ImageFolder extends AsyncDisposable {
  /** Path here of a path in the image. */
  path(inImage: string): string;
}

/** Lays out the last stage of the Dockerfile, line by line: what it copies and nothing else. */
export async function layOutImage(): Promise<ImageFolder> {
  const root = await mkdtemp(join(tmpdir(), "knfleet-image-"));
  const path = (inImage: string) => join(root, inImage);
  const dockerfile = await readFile(join(project, "Dockerfile"), "utf8");
  const last = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
  for (const [, from = "", to = ""] of last.matchAll(/^COPY --from=build (\S+) (\S+)$/gm)) {
    await mkdir(dirname(path(to)), { recursive: true });
    await copy(from, path(to));
  }
  return { path, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
}

async function copy(inBuild: string, target: string): Promise<void> {
  // Big and unchanged: the Node of the tests, and verified release files.
  if (inBuild === "/usr/local/bin/node") return symlink(process.execPath, target);
  if (inBuild === "/releases") return symlink(await releaseDir(), target);
  if (inBuild === "/src/node_modules") return copyPackages(target);
  await cp(inBuild.replace(/^\/src\//, `${project}/`), target, { recursive: true });
}

/** What `npm ci --omit=dev` installs. */
async function copyPackages(target: string): Promise<void> {
  const lock: unknown = JSON.parse(await readFile(join(project, "package-lock.json"), "utf8"));
  const packages = valueAt(lock, "packages");
  const runtime = Object.entries(isRecord(packages) ? packages : {}).filter(
    ([path, entry]) => path !== "" && valueAt(entry, "dev") !== true,
  );
  for (const [path] of runtime) {
    await cp(join(project, path), join(target, path.replace(/^node_modules\//, "")), {
      recursive: true,
      // Packages in a package have entries of their own.
      filter: (source) => !source.slice(join(project, path).length).includes("/node_modules"),
    });
  }
}
