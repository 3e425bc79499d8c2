import { subscribe } from "node:diagnostics_channel";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join, resolve, sep } from "node:path";
import { env } from "node:process";

import { expect } from "vitest";

import { recordAt } from "../../api/fields.ts";
import { releasesFolder, sampleDirOf } from "../../cmd/release-files.ts";
import { readLock } from "../../cmd/release-lock.ts";
import { cacheFolder } from "../fleet/binary-cache.ts";
import { isTagged, projectRoot, recordingsDir } from "./needs.ts";

// Before each test file: one with the tag `release-files` runs on Knative's own release files, and every other one on the sample release, also
// where Knative's are at hand. So a test means the same on every machine.

delete env["KNFLEET_RELEASE_DIR"];
if (!(await isTagged(expect.getState().testPath ?? ""))) await hideReleases();

async function hideReleases(): Promise<void> {
  const { KNFLEET_RELEASE_MIRROR: mirror = "" } = env;
  const hiding = await hidingVariables(cacheFolder(env));
  Object.assign(env, hiding);
  passOn(Object.entries(hiding));
  const { hash } = await readLock(projectRoot);
  const closed = [join(recordingsDir, "manifests"), ...(mirror === "" ? [] : [resolve(mirror)])];
  refuseToRead(closed, releasesFolder(hash));
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

/** Gives the variables also to the child processes that are spawned with an environment of their own, and leaves them what they have. */
function passOn(variables: readonly (readonly [name: string, value: string])[]): void {
  subscribe("tracing:child_process.spawn:start", (message) => {
    const pairs: unknown = recordAt(message, "options")["envPairs"];
    if (!Array.isArray(pairs)) return;
    const given = new Set(pairs.map((pair) => String(pair).split("=", 1).join("")));
    // Whoever names a cache or a mirror asks what can be found there, and not for the sample.
    const isOwn = variables.some(([name]) => given.has(name));
    for (const [name, value] of variables) {
      const isTaken = given.has(name) || (name === "KNFLEET_RELEASE_DIR" && isOwn);
      if (!isTaken) pairs.push(`${name}=${value}`);
    }
  });
}

/** What asks with an environment of its own in this process may find the files, but cannot read them. */
function refuseToRead(closed: readonly string[], folderName: string): void {
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
  Object.assign(fs, { readFile: guarded });
  syncBuiltinESMExports();
}
