import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { parse } from "yaml";

import type { Component } from "../../../api/component.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { isFields } from "../../../controller/render/fields.ts";

/** What was recorded of upstream for one component. Format: README.md of the render vectors. */
export interface Vector {
  readonly name: string;
  readonly component: Component;
  /** Absent for an error. */
  readonly objects?: readonly Manifest[];
  readonly targetVersion?: string;
  readonly statusManifests?: readonly string[];
  readonly error?: string;
  /** Objects that were on the cluster, or variables of upstream's process. */
  readonly depends: boolean;
}

interface Loader {
  readonly listCases: () => readonly string[];
  readonly loadCase: (dir: string) => {
    readonly name: string;
    readonly expected: Pick<Vector, "error" | "targetVersion" | "statusManifests">;
    readonly objects?: readonly Manifest[];
  };
  readonly normalize: (object: Manifest) => Manifest;
}

const root = resolve(import.meta.dirname, "../../..");
const folder = resolve(root, "../shared/vectors/render");

/** The recorded components; none where the shared folder is absent. */
export async function vectors(): Promise<readonly Vector[]> {
  if (!existsSync(folder)) return [];
  const { listCases, loadCase } = await loader();
  return Promise.all(
    listCases().map(async (dir) => {
      const { name, expected, objects } = loadCase(dir);
      const { error, targetVersion, statusManifests } = expected;
      const component = componentOf(parse(await readFile(join(dir, "cr.yaml"), "utf8")));
      const depends = ["live.yaml", "env.json"].some((file) => existsSync(join(dir, file)));
      return { name, component, objects, targetVersion, statusManifests, error, depends };
    }),
  );
}

/** Removes what a typed round trip leaves behind, which upstream's objects show and ours do not (D-27). */
export async function normalizer(): Promise<(object: Manifest) => Manifest> {
  const { normalize } = await loader();
  return (object) => normalize(structuredClone(object));
}

async function loader(): Promise<Loader> {
  const found: Loader = await import(pathToFileURL(join(folder, "load.mjs")).href);
  return found;
}

function componentOf(value: unknown): Component {
  if (!isComponent(value)) throw new Error("A vector holds no component");
  return value;
}

function isComponent(value: unknown): value is Component {
  return isFields(value) && ["KnativeServing", "KnativeEventing"].includes(String(value["kind"]));
}
