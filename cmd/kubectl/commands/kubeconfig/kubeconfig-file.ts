import { open, mkdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { words } from "../../commands.ts";
import { UsageError } from "../../usage-error.ts";

/** A file that only its owner reads. */
const ownMode = 0o600;

/**
 * Changes a kubeconfig at once or not at all, while kubectl keeps off: `change` makes the new text from the present one, undefined for a file that
 * is not there, and returns undefined to leave it. The file belongs to its owner alone afterwards.
 *
 * Throws UsageError for a file that others can read or write, that is no plain file, or that somebody else is changing.
 */
export async function changeKubeconfig(
  path: string,
  change: (text: string | undefined) => Promise<string | undefined>,
): Promise<void> {
  const file = await realpath(path).catch(() => resolve(path));
  await explained(path, () => mkdir(dirname(file), { recursive: true, mode: 0o700 }));
  await using _lock = await lock(file);
  await checkPrivate(file);
  const text = await change(await readIfThere(file));
  if (text === undefined) return;
  const fresh = join(dirname(file), `.knfleet-${process.pid}-${Date.now()}`);
  try {
    await explained(path, () => writeOwn(fresh, text));
    await explained(path, () => rename(fresh, file));
  } finally {
    await rm(fresh, { force: true });
  }
}

async function writeOwn(path: string, text: string): Promise<void> {
  await using handle = await open(path, "wx", ownMode);
  await handle.writeFile(text);
  await handle.sync();
}

/** kubectl makes the same file while it writes. */
async function lock(file: string): Promise<AsyncDisposable> {
  const path = `${file}.lock`;
  const handle = await explained(path, () => open(path, "wx", ownMode)).catch((error: unknown) => {
    if (!(error instanceof UsageError) || !error.message.includes("EEXIST")) throw error;
    throw new UsageError(`${file} is being changed by somebody else: ${path} is there`, [
      `When nobody is, remove ${path}.`,
    ]);
  });
  await handle.close();
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

/** Throws UsageError for a file that is there and is not its owner's alone. */
async function checkPrivate(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isFile()) throw new UsageError(`${file} is no plain file`);
  if (process.platform === "win32" || (found.mode & 0o077) === 0) return;
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  throw new UsageError(`${file} is open to others (mode ${mode}): nothing was written`, [
    words("chmod", "600", file),
  ]);
}

async function readIfThere(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found === undefined ? undefined : explained(file, () => readFile(file, "utf8"));
}

async function explained<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "failed";
    throw new UsageError(`${path} cannot be written (${code})`);
  }
}
