import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Writes a file that only its owner can read, at once or not at all. What had the name is replaced, also a symbolic link: the file to which it leads stays as it is.
 * Throws the errors of the file system.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const fresh = join(dirname(path), `.knfleet-${randomUUID()}`);
  try {
    await using handle = await open(fresh, "wx", 0o600);
    await handle.writeFile(text);
    await handle.sync();
    await rename(fresh, path);
  } finally {
    await rm(fresh, { force: true });
  }
}
