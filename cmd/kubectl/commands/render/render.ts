import { stat } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";

import { FleetError } from "../../../../api/errors.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { resourceFinder } from "../../../../api/resources.ts";
import { newestFirst, versionRefusal } from "../../../../render/release/version.ts";
import { jsonOf, yamlOf, yamlOfObject } from "../../compare/objects-text.ts";
import {
  renderComponent,
  type RenderedComponent,
  type RenderSettings,
} from "../../compare/render-component.ts";
import { atVersion, renderSettings, type RenderInputFlags } from "../../compare/render-settings.ts";
import { objectDiff } from "../../compare/unified-diff.ts";
import { exitCodes, UsageError } from "../../errors.ts";
import { failureOf } from "../../failure.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { type Answer, refusal } from "../../main/report.ts";
import type { Talk } from "../../main/talk.ts";
import { renderJson } from "../../output/output-format.ts";
import type { ComponentDocument } from "../../selection/component-documents.ts";
import { type Components, componentReader } from "../../selection/component-files.ts";
import { InputError } from "../../selection/yaml-documents.ts";

interface Options extends RenderInputFlags {
  readonly filename: readonly string[];
  readonly only: readonly string[];
  readonly diffWith?: string;
}

/** What would be applied. Exit code 2, with a failure for each problem, is for input that cannot be used; exit code 1 for a component that is refused. */
export async function render(fleet: Fleet, options: Options, talk: Talk): Promise<Answer> {
  try {
    return await (options.diffWith === undefined ? renderAll : renderDifference)(
      fleet,
      options,
      talk,
    );
  } catch (error) {
    if (error instanceof InputError) {
      const failures = error.problems.map((problem) => ({ error: problem, next: [] }));
      return { failures, exitCode: exitCodes.failed };
    }
    if (error instanceof DOMException && error.name === "TimeoutError") {
      const next = ["give it more time with --timeout"];
      return { ...refusal("The command did not end in time", next), exitCode: exitCodes.failed };
    }
    if (!(error instanceof RefusedError)) throw error;
    return { failures: error.failures.map((one) => failureOf(one)) };
  }
}

/** The components that cannot be rendered, each with its reason. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly failures: readonly FleetError[];

  constructor(failures: readonly FleetError[]) {
    super(failures.map(({ message }) => message).join("\n"));
    this.failures = failures;
  }
}

async function renderAll(fleet: Fleet, options: Options, talk: Talk): Promise<Answer> {
  const { components, settings, format, pick } = await readInput(fleet, options, talk);
  const results = await rendered(components, settings, fleet.signal);
  talk.note(...remarkNotes(components, results));
  const objects = pick(results);
  if (objects.length === 0) return nothingSelected(options);
  return { text: format === "json" ? jsonOf(objects) : yamlOf(objects) };
}

async function renderDifference(fleet: Fleet, options: Options, talk: Talk): Promise<Answer> {
  const { filename, diffWith = "" } = options;
  const { components, settings, format, read, pick } = await readInput(fleet, options, talk);
  const others = await diffComponents(diffWith, components, read);
  const results = await rendered(components, settings, fleet.signal);
  const otherResults = await rendered(others.components, settings, fleet.signal);
  const notes = [
    ...remarkNotes(components, results),
    ...remarkNotes(others.components, otherResults),
  ];
  talk.note(...new Set(notes));
  const [version = "", otherVersion = ""] = [results, otherResults].map(([one]) => one?.version);
  const here = { objects: pick(results), label: others.isVersion ? version : filename.join(",") };
  const there = {
    objects: pick(otherResults),
    label: others.isVersion ? otherVersion : diffWith,
  };
  if (here.objects.length + there.objects.length === 0) return nothingSelected(options);
  // The newer version is on the right, so the diff is an upgrade whichever version the file names.
  const isReversed = others.isVersion && newestFirst(otherVersion, version) < 0;
  const [left, right] = isReversed ? [here, there] : [there, here];
  const diff = objectDiff(left, right, format === "json" ? renderJson : yamlOfObject);
  return { text: diff, exitCode: diff === "" ? exitCodes.fine : exitCodes.unhealthy };
}

/** Reads what is rendered, and how, before any rendering. `pick`: the objects of `--only`. */
async function readInput(fleet: Fleet, options: Options, talk: Talk) {
  const { filename } = options;
  const format = formatOf(fleet.flags);
  const selectors = selectorsOf(options.only);
  if (filename.length === 0) {
    throw new UsageError(
      "There is nothing to render: name a file with -f, or - for standard input",
    );
  }
  if (filename.filter((path) => path === "-").length > 1) {
    throw new UsageError("Standard input can be read once only");
  }
  const input = fleet.asInput(options);
  const read = componentReader(input, fleet.signal);
  const { components, notes } = await read(filename, "-f");
  const settings = await renderSettings(input, fleet.signal);
  talk.note(...notes);
  const pick = (results: readonly RenderedComponent[]) =>
    selected(
      results.flatMap(({ objects }) => objects),
      selectors,
    );
  return { components, settings, format, read, pick };
}

/** A note for each part of a spec that is not done as it is written. */
function remarkNotes(
  components: readonly ComponentDocument[],
  results: readonly RenderedComponent[],
): readonly string[] {
  return components.flatMap(({ where }, at) => {
    const { version = "", remarks = [] } = results[at] ?? {};
    return remarks.map((remark) => `${where}, version ${version}: ${remark}`);
  });
}

async function rendered(
  components: readonly ComponentDocument[],
  settings: RenderSettings,
  signal: AbortSignal,
): Promise<readonly RenderedComponent[]> {
  const wrong = components.flatMap(({ where, component }) => {
    const error = versionRefusal(component);
    return error === undefined ? [] : [failureIn(where, error)];
  });
  // Known without release files, which may take a download.
  if (wrong.length > 0) throw new RefusedError(wrong);
  await settings.releases();
  const results: RenderedComponent[] = [];
  const failures: FleetError[] = [];
  for (const { where, component } of components) {
    // A file may have a whole fleet, so the signal is checked after each component.
    await setImmediate();
    signal.throwIfAborted();
    try {
      results.push(await renderComponent(component, settings));
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      failures.push(failureIn(where, error));
    }
  }
  if (failures.length > 0) throw new RefusedError(failures);
  return results;
}

function failureIn(where: string, { reason, message, cause }: FleetError): FleetError {
  return new FleetError(reason, `${where}: ${message}`, { cause });
}

function nothingSelected({ only }: Pick<Options, "only">): Answer {
  return refusal(`No object is named ${only.join(" or ")}`, []);
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
    component: atVersion(component, wanted),
  }));
  return { components: others, isVersion: true };
}

/** Kind and name of objects to show; the kind is also its plural, in any letter case. */
interface Selector {
  readonly kind: string;
  readonly name: string;
}

/** `yaml` unless another format is asked for. Throws UsageError for a table. */
function formatOf({ output, outputGiven }: Flags): "yaml" | "json" {
  if (output === "json" || output === "yaml") return output;
  if (!outputGiven) return "yaml";
  throw new UsageError(`Invalid value "${output}" for --output: want yaml, json`);
}

/** Selectors of `--only`; empty: everything. Throws UsageError. */
function selectorsOf(only: readonly string[]): readonly Selector[] {
  return only.map((text) => {
    const [kind = "", name = "", ...rest] = text.split("/");
    if (kind === "" || name === "" || rest.length > 0) {
      throw new UsageError(`Invalid value "${text}" for --only: want KIND/NAME`);
    }
    return { kind: kind.toLowerCase(), name };
  });
}

/** The objects that one of the selectors names. */
function selected(
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
