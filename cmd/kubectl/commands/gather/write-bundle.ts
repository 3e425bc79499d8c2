import { open, rm } from "node:fs/promises";
import { posix } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { tarOf, type ArchiveFile } from "../../bundle/tar.ts";
import { messageOf } from "../../message-of.ts";
import { UsageError } from "../../usage-error.ts";
import type { SecretFinder } from "./known-secrets.ts";

/** Looks for every secret of the run in files that are to be written. Throws UsageError that names the files, and no secret. */
export function checkFiles(files: readonly ArchiveFile[], secrets: SecretFinder): void {
  const leaking = files.filter(({ path, text }) => secrets.isIn(path) || secrets.isIn(text));
  if (leaking.length === 0) return;
  const names = leaking.map(({ path }) => (secrets.isIn(path) ? "[redacted]" : path)).join(", ");
  throw new UsageError(`Nothing was written: a credential of this run is in ${names}`, [
    "Report it as a fault of this program; the bundle is of no use to anybody.",
  ]);
}

/** Writes an archive that only the owner may read. Throws UsageError when the file exists or cannot be written. */
export async function writeBundle(
  path: string,
  files: readonly ArchiveFile[],
  modified: Date,
): Promise<number> {
  const root = posix.basename(path.replaceAll("\\", "/")).replace(/\.(?:tgz|tar\.gz)$/, "");
  const inside = files.map(({ path: name, text }) => ({ path: `${root}/${name}`, text }));
  const archive = await promisify(gzip)(tarOf(inside, modified));
  const file = await open(path, "wx", 0o600).catch((error: unknown) => {
    throw new UsageError(`The file ${path} cannot be written: ${messageOf(error)}`, [
      "Name another one with -o.",
    ]);
  });
  try {
    await file.writeFile(archive);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return archive.length;
}
