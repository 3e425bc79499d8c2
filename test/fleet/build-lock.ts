import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A lock that is held until it is disposed. */
export type BuildLock = AsyncDisposable;

// Between making the folder and writing the owner a process may die.
const ownerlessGraceMs = 10_000;

/**
 * Takes a lock between processes: the folder `path` exists while it is held. Waits for a living owner, telling `onWait`
 * its process id once, and takes over from a dead one. It only saves double work: what it guards must be right without
 * it, for two processes that find the same dead owner at the same moment may both go on.
 */
export async function takeBuildLock(
  path: string,
  { onWait, signal }: { readonly onWait: (pid: number) => void; readonly signal?: AbortSignal },
): Promise<BuildLock> {
  for (let told = false; ;) {
    if (await made(path)) {
      await writeFile(join(path, "owner"), String(process.pid));
      return { [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
    }
    const owner = await ownerOf(path);
    if (owner === "dead") {
      await removeOnce(path);
      continue;
    }
    if (!told && owner !== "unknown") {
      told = true;
      onWait(owner);
    }
    await delay(250, undefined, signal === undefined ? {} : { signal });
  }
}

async function made(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

async function ownerOf(path: string): Promise<number | "dead" | "unknown"> {
  const pid = Number(await readFile(join(path, "owner"), "utf8").catch(() => "0"));
  if (pid > 0) return isAlive(pid) ? pid : "dead";
  const age = await stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  );
  return age > ownerlessGraceMs ? "dead" : "unknown";
}

// Of several processes only one can rename a folder away; the others find it gone and try to make a new one.
async function removeOnce(path: string): Promise<void> {
  const aside = `${path}.${process.pid}.dead`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}

/** True when a process of this id exists, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
