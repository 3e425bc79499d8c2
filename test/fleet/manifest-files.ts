import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { parseAllDocuments } from "yaml";

import type { Manifest } from "../../api/kubernetes.ts";
import { isRecord } from "./json-record.ts";

/** The manifests of a YAML file, in its order; empty documents are left out. */
export async function readManifests(path: string): Promise<readonly Manifest[]> {
  return manifestsIn(await readFile(path, "utf8"), path);
}

/** The manifests of a YAML text; `place` is for the error when it has something else. */
export function manifestsIn(text: string, place: string): readonly Manifest[] {
  return [...parseAllDocuments(text)].flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    const value: unknown = document.toJS();
    if (value === null) return [];
    if (!isManifest(value)) throw new Error(`${place} has a document that is no Kubernetes object`);
    return [value];
  });
}

/** The manifests of all YAML files of a folder, by file name; none when there is no such folder. */
export async function readManifestFolder(folder: string): Promise<readonly Manifest[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /\.ya?ml$/.test(name));
  const files = await Promise.all(
    names.toSorted().map((name) => readManifests(join(folder, name))),
  );
  return files.flat();
}

function isManifest(value: unknown): value is Manifest {
  return isRecord(value) && typeof value["kind"] === "string" && isRecord(value["metadata"]);
}
