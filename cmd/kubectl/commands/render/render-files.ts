import { stat } from "node:fs/promises";

import type { Manifest } from "../../../../api/kubernetes.ts";
import { resourceFinder } from "../../../../api/resources.ts";
import { Preparations } from "../../../../installation/desired.ts";
import { defaultSpokeNamespace } from "../../../../installation/installation-namespace.ts";
import { BoundedCache } from "../../../../render/release/releases.ts";
import type { ActionInput } from "../../action.ts";
import { namedReleases } from "../../compare/named-releases.ts";
import { withSpec } from "../../compare/render-component.ts";
import type { RenderSettings } from "../../compare/render-component.ts";
import {
  namedMode,
  namespaceOfBy,
  type SpokeNamespaceFlag,
} from "../../compare/rendering-options.ts";
import { UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { namedNamespace } from "../../selection/hub-namespace.ts";
import {
  environmentOf,
  readInputText,
  manifestFolder,
  objectsOf,
} from "../../selection/input-files.ts";
import { InputError, yamlDocuments } from "../../selection/yaml-documents.ts";
import {
  componentCheck,
  type ComponentDocument,
  componentDocuments,
} from "./component-documents.ts";

/** Components of several files, and notes about them. */
interface Components {
  readonly components: readonly ComponentDocument[];
  readonly notes: readonly string[];
}

/**
 * Reads and checks the components of files; `-` is standard input. `usual` is the namespace of those that name none, when the command line names none
 * either. Throws InputError with the problems of all files.
 */
export function componentReader(
  { flags, terminal }: Pick<ActionInput<unknown>, "flags" | "terminal">,
  signal: AbortSignal,
  usual?: string,
): (paths: readonly string[], flag: string) => Promise<Components> {
  const check = componentCheck();
  const rules = { namespace: namedNamespace(flags), usual, check };
  const readOne = async (path: string, flag: string) => {
    const isStdin = path === "-";
    const stream = isStdin ? { stream: terminal.stdin } : {};
    const text = await readInputText({ path, flag, ...stream }, signal);
    return componentDocuments(yamlDocuments(text, isStdin ? "standard input" : path), rules);
  };
  return async (paths, flag) => {
    const read = await Promise.allSettled(paths.map((path) => readOne(path, flag)));
    const problems = read.flatMap((one) => {
      if (one.status === "fulfilled") return [];
      if (one.reason instanceof InputError) return one.reason.problems;
      throw one.reason;
    });
    if (problems.length > 0) throw new InputError(problems);
    const found = read.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const components = found.flatMap((one) => one.components);
    if (components.length === 0) {
      throw new InputError([
        `${flag} ${paths.join(" ")}: holds no KnativeServing or KnativeEventing`,
      ]);
    }
    return { components, notes: found.flatMap(({ notes }) => notes) };
  };
}

/** Reads the files that the flags name, but not the releases. Throws InputError. */
export async function renderSettings(
  input: ActionInput<RenderFlags>,
  signal: AbortSignal,
): Promise<RenderSettings> {
  const { options } = input;
  const { live, envFile, manifestsFrom, anchorUid, kubernetesVersion } = options;
  const file = (path: string, flag: string): Promise<string> =>
    readInputText({ path, flag }, signal);
  if (manifestsFrom !== undefined && !(await isFolder(manifestsFrom))) {
    throw new InputError([`--manifests-from ${manifestsFrom}: is not a folder`]);
  }
  const mode = namedMode(options) ?? defaultSpokeNamespace;
  return {
    live: live === undefined ? [] : objectsOf(await file(live, "--live"), live),
    environment:
      envFile === undefined ? {} : environmentOf(await file(envFile, "--env-file"), envFile),
    preparations: new Preparations(),
    remarks: new BoundedCache(64),
    namespaceOf: namespaceOfBy(async () => mode),
    releases: namedReleases(input, signal),
    anchorUid,
    kubernetesVersion,
    manifestText: manifestsFrom === undefined ? undefined : manifestFolder(manifestsFrom),
  };
}

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
    component: withSpec({ ...component, status: undefined }, { version: wanted }),
  }));
  return { components: others, isVersion: true };
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/** Flags of `render` alone, as they come from the command line. */
export interface RenderFlags extends SpokeNamespaceFlag {
  readonly filename?: readonly string[];
  readonly anchorUid?: string;
  readonly kubernetesVersion?: string;
  readonly only?: readonly string[];
  readonly diffWith?: string;
  readonly live?: string;
  readonly envFile?: string;
  readonly manifestsFrom?: string;
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
