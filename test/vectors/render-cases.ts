import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import type { Manifest } from "../../api/kubernetes.ts";
import { recordingsDir } from "../support/needs.ts";

/** What was recorded of upstream for one component. Format: README.md of the render vectors. */
export interface RenderCase {
  readonly name: string;
  readonly dir: string;
  readonly expected: Expected;
  /** In apply order; absent for an error. */
  readonly objects: readonly Manifest[] | undefined;
}

interface Expected {
  readonly error?: string;
  /** Upstream crashed. */
  readonly panic?: boolean;
  /** When the error was found: `not-eligible` before anything, `after-apply` when everything was applied. */
  readonly phase?: "not-eligible" | "after-apply";
  readonly targetVersion?: string;
  readonly statusManifests?: readonly string[];
  /** Objects that patches delete from the cluster, in that order, as `apiVersion/kind/namespace/name`. */
  readonly deletedAfterReady?: readonly string[];
}

/** Cases of one folder. */
export interface RenderVectors {
  readonly cases: readonly RenderCase[];
  /** Removes what a typed round trip leaves behind, which upstream's objects show and ours do not (D-27). */
  readonly normalize: (object: Manifest) => Manifest;
}

interface Loader {
  readonly listCases: (root: string) => readonly string[];
  readonly loadCase: (
    dir: string,
    options: { readonly baseRoot: string },
  ) => Pick<RenderCase, "name" | "expected"> & { readonly objects?: readonly Manifest[] };
  readonly normalize: (object: Manifest) => Manifest;
}

const recorded = join(recordingsDir, "vectors", "render");

/** The recorded cases of a shared folder. */
export const patchVectors = join(recordingsDir, "vectors", "patches");

/** The recorded cases of a folder, by default the shared one; undefined where that is absent. */
export async function renderVectors(folder = recorded): Promise<RenderVectors | undefined> {
  if (!existsSync(join(folder, "cases"))) return undefined;
  // A folder of further cases may go without the reader and the plain cases that they start from.
  const owner = (part: string): string => (existsSync(join(folder, part)) ? folder : recorded);
  const reader = pathToFileURL(join(owner("load.mjs"), "load.mjs")).href;
  const { listCases, loadCase, normalize }: Loader = await import(reader);
  const cases = listCases(folder).map((dir): RenderCase => {
    const { name, expected, objects } = loadCase(dir, { baseRoot: owner("bases") });
    return { name, dir, expected, objects };
  });
  return { cases, normalize: (object) => normalize(structuredClone(object)) };
}

/** Text of a file of a case; undefined when the case has none. */
export async function caseFile({ dir }: RenderCase, name: string): Promise<string | undefined> {
  const path = join(dir, name);
  return existsSync(path) ? await readFile(path, "utf8") : undefined;
}
