import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const project = resolve(import.meta.dirname, "../..");

/** What `npm run build` makes, in a folder of its own that has no project and no packages above it. */
export interface DistFolder extends AsyncDisposable {
  /** Path of a file in it. */
  path(name: string): string;
}

/** Runs the build as `npm run build` does. */
export async function buildDist(): Promise<DistFolder> {
  const base = await mkdtemp(join(tmpdir(), "knfleet-dist-"));
  const folder = join(base, "dist");
  const script = join(project, "cmd/build/build.ts");
  await promisify(execFile)(process.execPath, [script, "--output", folder]);
  return {
    path: (name) => join(folder, name),
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}
