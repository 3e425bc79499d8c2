import { stat } from "node:fs/promises";

import type { Manifest } from "../../../../api/kubernetes.ts";
import { resourceFinder } from "../../../../api/resources.ts";
import { atVersion, type RenderInputFlags } from "../../compare/render-settings.ts";
import { UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import type { ComponentDocument } from "../../selection/component-documents.ts";
import type { Components } from "../../selection/component-files.ts";
import { InputError } from "../../selection/yaml-documents.ts";

/** The components to compare with: those of a file, or the same components at another version. Throws InputError. */
export async function diffComponents(
  wanted: string,
  components: readonly ComponentDocument[],
  read: (paths: readonly string[], flag: string) => Promise<Components>,
): Promise<{ readonly isVersion: boolean; readonly components: readonly ComponentDocument[] }> {
  const isFile = wanted === "-" || (await stat(wanted).catch(() => undefined)) !== undefined;
  if (isFile) return { ...(await read([wanted], "--diff-with")), isVersion: false };
  if (!/^(?:v?\d+\.\d+.*|latest)$/i.test(wanted)) {
    throw new InputError([`--diff-with ${wanted}: is neither a file nor a version`]);
  }
  // Without its status: the installed version limits upgrades, not comparisons.
  const others = components.map(({ where, component }) => ({
    where,
    component: atVersion(component, wanted),
  }));
  return { components: others, isVersion: true };
}

/** Flags of `render` alone, as they come from the command line. */
export interface RenderFlags extends RenderInputFlags {
  readonly filename?: readonly string[];
  readonly only?: readonly string[];
  readonly diffWith?: string;
}

/** Kind and name of objects to show; the kind is also its plural, in any letter case. */
interface Selector {
  readonly kind: string;
  readonly name: string;
}

/** Files with components, at least one. Throws UsageError. */
export function filesOf({ filename = [] }: RenderFlags): readonly string[] {
  if (filename.length === 0) {
    throw new UsageError(
      "There is nothing to render: name a file with -f, or - for standard input",
    );
  }
  if (filename.filter((path) => path === "-").length > 1) {
    throw new UsageError("Standard input can be read once only");
  }
  return filename;
}

/** Throws UsageError for values that no file and no cluster can have. */
export function checkValues({ anchorUid, kubernetesVersion }: RenderFlags): void {
  if (anchorUid === "") throw new UsageError("--anchor-uid is empty");
  if (kubernetesVersion !== undefined && !/^v?\d+\.\d+/.test(kubernetesVersion)) {
    const wanted = "want a version such as v1.34.1";
    throw new UsageError(
      `Invalid value "${kubernetesVersion}" for --kubernetes-version: ${wanted}`,
    );
  }
}

/** `yaml` unless another format is asked for. Throws UsageError for a table. */
export function formatOf({ output, outputGiven }: Flags): "yaml" | "json" {
  if (output === "json" || output === "yaml") return output;
  if (!outputGiven) return "yaml";
  throw new UsageError(`Invalid value "${output}" for --output: want yaml, json`);
}

/** Selectors of `--only`; empty: everything. Throws UsageError. */
export function selectorsOf({ only = [] }: RenderFlags): readonly Selector[] {
  return only.map((text) => {
    const [kind = "", name = "", ...rest] = text.split("/");
    if (kind === "" || name === "" || rest.length > 0) {
      throw new UsageError(`Invalid value "${text}" for --only: want KIND/NAME`);
    }
    return { kind: kind.toLowerCase(), name };
  });
}

/** The objects that one of the selectors names. */
export function selected(
  objects: readonly Manifest[],
  selectors: readonly Selector[],
): readonly Manifest[] {
  if (selectors.length === 0) return objects;
  const resourceOf = resourceFinder(objects);
  return objects.filter((object) =>
    selectors.some(
      ({ kind, name }) =>
        object.metadata.name === name &&
        [object.kind.toLowerCase(), resourceOf(object).plural].includes(kind),
    ),
  );
}
