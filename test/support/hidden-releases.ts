import { subscribe, unsubscribe } from "node:diagnostics_channel";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join, resolve, sep } from "node:path";
import { env } from "node:process";

import { recordAt } from "../../api/fields.ts";
import { releasesFolder, sampleDirOf } from "../../cmd/release-files.ts";
import { readLock } from "../../cmd/release-lock.ts";
import { cacheFolder } from "../fleet/binary-cache.ts";
import { projectRoot, recordingsDir } from "./needs.ts";

const spawning = "tracing:child_process.spawn:start";

let undo = new DisposableStack();

/** Hides the release files from this process and its children, or shows them again. */
export async function hideReleases(isHidden: boolean): Promise<void> {
  undo.dispose();
  undo = new DisposableStack();
  if (!isHidden) return;
  const { KNFLEET_RELEASE_MIRROR: mirror = "" } = env;
  const hiding = await hidingVariables(cacheFolder(env));
  for (const [name, value] of Object.entries(hiding)) undo.defer(setVariable(name, value));
  undo.defer(passOn(Object.entries(hiding)));
  const { hash } = await readLock(projectRoot);
  const closed = [join(recordingsDir, "manifests"), ...(mirror === "" ? [] : [resolve(mirror)])];
  undo.defer(refuseToRead(closed, releasesFolder(hash)));
}

/** Returns what puts the former value back. */
function setVariable(name: string, value: string): () => void {
  const { [name]: before } = env;
  env[name] = value;
  return () => {
    if (before === undefined) delete env[name];
    else env[name] = before;
  };
}

/** Variables with which a program finds the sample, and Knative's files in no cache, in no mirror and by no download. */
async function hidingVariables(cache: string): Promise<Readonly<Record<string, string>>> {
  const hidden = join(cache, "without-releases");
  const nothing = join(hidden, "nothing");
  // What is built later goes where the other files find it.
  const folders = [nothing, join(cache, "binaries"), join(cache, "files")];
  await Promise.all(folders.map((folder) => fs.mkdir(folder, { recursive: true })));
  // Another worker may have been faster.
  const links = ["binaries", "files"].map((name) =>
    fs.symlink(join("..", name), join(hidden, name)),
  );
  await Promise.allSettled(links);
  return {
    KNFLEET_RELEASE_DIR: sampleDirOf(),
    KNFLEET_RELEASE_MIRROR: nothing,
    KNFLEET_CACHE_DIR: hidden,
  };
}

/**
 * Gives the variables also to the child processes that are spawned with an environment of their own, and leaves them what they have. Returns what
 * ends that.
 */
function passOn(variables: readonly (readonly [name: string, value: string])[]): () => void {
  const onSpawn = (message: unknown): void => {
    const pairs: unknown = recordAt(message, "options")["envPairs"];
    if (!Array.isArray(pairs)) return;
    const given = new Set(pairs.map((pair) => String(pair).split("=", 1).join("")));
    // Whoever names a cache or a mirror asks what can be found there, and not for the sample.
    const isOwn = variables.some(([name]) => given.has(name));
    for (const [name, value] of variables) {
      const isTaken = given.has(name) || (name === "KNFLEET_RELEASE_DIR" && isOwn);
      if (!isTaken) pairs.push(`${name}=${value}`);
    }
  };
  subscribe(spawning, onSpawn);
  return () => void unsubscribe(spawning, onSpawn);
}

/** What asks with an environment of its own in this process may find the files, but cannot read them. Returns what ends that. */
function refuseToRead(closed: readonly string[], folderName: string): () => void {
  const { readFile } = fs;
  const guarded = async (...args: Parameters<typeof readFile>) => {
    const [path] = args;
    if (typeof path !== "string") return readFile(...args);
    // The list of the files is no part of them.
    const isClosed =
      !path.endsWith("SHA256SUMS") && closed.some((folder) => path.startsWith(folder + sep));
    if (isClosed || path.includes(`${sep}${folderName}${sep}`)) {
      throw new Error(`${path} is for test files with the tag release-files`);
    }
    return readFile(...args);
  };
  const replaceBy = (replacement: typeof readFile | typeof guarded): void => {
    Object.assign(fs, { readFile: replacement });
    syncBuiltinESMExports();
  };
  replaceBy(guarded);
  return () => replaceBy(readFile);
}
