import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { cacheFolder } from "../fleet/binary-cache.ts";

// What `apt-get install` needs, and a small Debian that stands in for the base images of the Dockerfile.
const packages = ["buildah", "crun", "mmdebstrap"];
const suite = "bookworm";
const inBase = ["libstdc++6", "ca-certificates"];

// Lays what was unpacked over /usr, for this process and what it starts: nothing is installed, and nothing is left when it ends.
const laidOver = 'mount -t overlay overlay -o "lowerdir=$0/tools/usr:/usr" /usr && exec "$@"';

const run = promisify(execFile);

/** The folder of the cache with the tools. */
export function imageToolsFolder(env: NodeJS.ProcessEnv): string {
  return join(cacheFolder(env), "files", `image-tools-${suite}`);
}

// What gets the tools, builds the image, and runs what is in it.
const programs = ["apt-get", "dpkg-deb", "ip", "nsenter", "setpriv", "unshare"];
/** Certificates of the machine, for npm and for the pods. */
export const systemAuthorities = "/etc/ssl/certs/ca-certificates.crt";

/** Why `npm run image` and the tests of the image cannot work here at all. */
export function imageObstacle({ PATH = "" }: NodeJS.ProcessEnv): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "it needs root on Linux";
  if (!existsSync(systemAuthorities)) return `it needs ${systemAuthorities}`;
  const all = 'for program; do command -v "$program" || exit 1; done; unshare --mount true';
  const asked = ["-c", all, "sh", ...programs];
  const { status } = spawnSync("sh", asked, { env: { PATH }, stdio: "ignore" });
  return status === 0 ? undefined : `it needs ${programs.join(", ")}, as Debian has them`;
}

/** Whether the tools are here. */
export function hasImageTools(env: NodeJS.ProcessEnv): boolean {
  return imageObstacle(env) === undefined && existsSync(imageToolsFolder(env));
}

/**
 * Puts buildah, mmdebstrap and a small Debian into the cache, from the packages of Debian: 280 MB, 15 s. Nothing on the machine changes besides. Throws
 * what apt-get or mmdebstrap said.
 */
export async function ensureImageTools(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<void> {
  const folder = imageToolsFolder(env);
  if (existsSync(folder)) return;
  log("Getting the programs that build the image, from Debian");
  const making = `${folder}.${process.pid}`;
  try {
    await unpackTools(making, env);
    const kept = ["--variant=essential", "--format=directory", `--include=${inBase.join(",")}`];
    const words = ["mmdebstrap", "--quiet", ...kept, suite, join(making, "base")];
    await run(...withTools(making, words), { env, timeout: 300_000 });
    await rename(making, folder);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** The command that runs another one with the tools of a folder. */
export function withTools(
  folder: string,
  words: readonly string[],
): readonly [program: string, args: readonly string[]] {
  return ["unshare", ["--mount", "sh", "-c", laidOver, folder, ...words]];
}

/** Downloads the packages with lists and a cache of their own. */
async function unpackTools(making: string, env: NodeJS.ProcessEnv): Promise<void> {
  const lists = join(making, "lists");
  const cache = join(making, "cache");
  const archives = join(cache, "archives");
  const tools = join(making, "tools");
  const folders = [join(lists, "partial"), join(archives, "partial"), tools];
  for (const path of folders) await mkdir(path, { recursive: true });
  const settings = {
    "Dir::State::lists": lists,
    "Dir::Cache": cache,
    "APT::Sandbox::User": "root",
    "Acquire::Retries": "1",
    "Acquire::http::Timeout": "10",
    "Acquire::https::Timeout": "10",
  };
  const given = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const apt = (...words: readonly string[]) =>
    run("apt-get", ["--quiet=2", ...given, ...words], { env, timeout: 120_000 });
  await apt("update");
  await apt("install", "--download-only", "--no-install-recommends", "--yes", ...packages);
  const files = (await readdir(archives)).filter((name) => name.endsWith(".deb"));
  for (const file of files) await run("dpkg-deb", ["-x", join(archives, file), tools]);
  for (const path of [lists, cache]) await rm(path, { recursive: true });
}
