import { readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";

import { FleetError } from "../../../../api/errors.ts";

const prefixes = ["file:", "@CASE_DIR@/"];
const mostBytes = 16 * 1024 * 1024;

/**
 * Reads what a URL of `spec.manifests` or `spec.additionalManifests` names from a folder of the workstation: `file:NAME` or
 * `@CASE_DIR@/NAME`, nothing outside of the folder, no other URL. Throws FleetError ManifestInvalid.
 */
export function manifestFolder(folder: string): (url: string) => Promise<string> {
  return async (url) => {
    const prefix = prefixes.find((candidate) => url.startsWith(candidate));
    if (prefix === undefined) {
      throw refused(url, `is not one of ${prefixes.map((one) => `${one}NAME`).join(" and ")}`);
    }
    const root = await realpath(folder).catch((cause: unknown) => {
      throw refused(url, `cannot be read: there is no folder ${folder}`, cause);
    });
    const path = await realpath(join(root, url.slice(prefix.length))).catch((cause: unknown) => {
      throw refused(url, "does not exist in the folder of --manifests-from", cause);
    });
    if (!path.startsWith(root + sep)) throw refused(url, "leads out of the folder");
    const found = await stat(path);
    if (!found.isFile() || found.size > mostBytes) throw refused(url, "is no file up to 16 MiB");
    return readFile(path, "utf8");
  };
}

function refused(url: string, problem: string, cause?: unknown): FleetError {
  return new FleetError("ManifestInvalid", `Manifest ${url} ${problem}`, { cause });
}
