import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const project = resolve(import.meta.dirname, "../..");
const product = ["api", "access", "cmd", "controller", "installation", "render", "sets", "webhook"];

/** A copy of the sources that has nothing beside it and an empty cache. */
export interface PlainCopy extends AsyncDisposable {
  readonly path: (name: string) => string;
  /** The environment in which nothing of this machine is found. */
  readonly env: Readonly<Record<string, string>>;
}

/** Copies the sources, with more folders if needed. Release files would be downloaded from a port of this machine. */
export async function plainCopy(port: number, more: readonly string[] = []): Promise<PlainCopy> {
  const base = await mkdtemp(join(tmpdir(), "knfleet-plain-copy-"));
  const path = (name: string): string => join(base, "copy", name);
  await Promise.all(
    [...product, ...more, "package.json"].map((name) =>
      cp(join(project, name), path(name), { recursive: true }),
    ),
  );
  await symlink(join(project, "node_modules"), path("node_modules"));
  const lock = await readFile(join(project, "releases.lock.json"), "utf8");
  const here = `$1http://127.0.0.1:${port}/`;
  await writeFile(
    path("releases.lock.json"),
    lock.replaceAll(/("url": ")https:\/\/[^/"]+\//g, here),
  );
  return {
    path,
    // Without the mirror that hides Knative's files from tests (test/support/release-world.ts): the copy asks for a download.
    env: { KNFLEET_CACHE_DIR: path("cache"), KNFLEET_RELEASE_MIRROR: "" },
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}
