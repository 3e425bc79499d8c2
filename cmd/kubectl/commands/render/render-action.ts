import { once } from "node:events";
import { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";

import { FleetError } from "../../../../api/errors.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { newestFirst, versionRefusal } from "../../../../render/release/version.ts";
import type { ActionInput } from "../../action.ts";
import {
  renderComponent,
  type RenderedComponent,
  type RenderSettings,
} from "../../compare/render-component.ts";
import { renderSettings } from "../../compare/render-settings.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import { failureOf } from "../../failure.ts";
import { renderJson } from "../../output/output-format.ts";
import { renderFailure } from "../../output/steps.ts";
import { documentOutput, type Output } from "../../output/terminal.ts";
import type { ComponentDocument } from "../../selection/component-documents.ts";
import { componentReader } from "../../selection/component-files.ts";
import { InputError } from "../../selection/yaml-documents.ts";
import { jsonOf, yamlOf, yamlOfObject } from "./objects-text.ts";
import {
  checkValues,
  diffComponents,
  filesOf,
  formatOf,
  type RenderFlags,
  selected,
  selectorsOf,
} from "./render-files.ts";
import { objectDiff } from "./unified-diff.ts";

/**
 * `kubectl knfleet render`: prints what would be applied. Exit code 2, with a line for each problem, is for input that cannot be used; exit code 1 for a
 * component that is refused.
 */
export async function runRender(
  input: ActionInput<RenderFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  try {
    return input.options.diffWith === undefined
      ? await printObjects(input, signal)
      : await printDiff(input, input.options.diffWith, signal);
  } catch (error) {
    const { stderr } = input.terminal;
    if (error instanceof InputError) {
      const lines = error.problems.map((problem) => ({ error: problem, causes: [], next: [] }));
      stderr.write(lines.map(renderFailure).join(""));
      return exitCodes.failed;
    }
    if (error instanceof DOMException && error.name === "TimeoutError") {
      const next = ["give it more time with --timeout"];
      stderr.write(renderFailure({ error: "The command did not end in time", causes: [], next }));
      return exitCodes.failed;
    }
    if (!(error instanceof RefusedError)) throw error;
    stderr.write(error.failures.map((one) => renderFailure(failureOf(one))).join(""));
    return exitCodes.unhealthy;
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

async function printObjects(
  input: ActionInput<RenderFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { components, settings, format } = await gathered(input, signal);
  const results = await rendered(components, settings, signal);
  writeNotes(remarkNotes(components, results), input);
  const objects = selected(objectsOf(results), selectorsOf(input.options));
  if (objects.length === 0) return nothingSelected(input);
  await writeAll(
    documentOutput(input.terminal),
    format === "json" ? jsonOf(objects) : yamlOf(objects),
    signal,
  );
  return exitCodes.fine;
}

async function printDiff(
  input: ActionInput<RenderFlags>,
  wanted: string,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { components, settings, format, read } = await gathered(input, signal);
  const others = await diffComponents(wanted, components, read);
  const results = await rendered(components, settings, signal);
  const otherResults = await rendered(others.components, settings, signal);
  const notes = [
    ...remarkNotes(components, results),
    ...remarkNotes(others.components, otherResults),
  ];
  writeNotes(new Set(notes), input);
  const [here, there] = [sideOf(results, input), sideOf(otherResults, input)];
  if (here.objects.length + there.objects.length === 0) return nothingSelected(input);
  const label = others.isVersion ? there.label : wanted;
  const hereLabel = others.isVersion ? here.label : filesOf(input.options).join(",");
  // The newer version is on the right, so the diff is an upgrade whichever version the file names.
  const isReversed = others.isVersion && newestFirst(there.label, here.label) < 0;
  const sides = [
    { ...there, label },
    { ...here, label: hereLabel },
  ] as const;
  const [left, right] = isReversed ? [sides[1], sides[0]] : sides;
  const textOf = format === "json" ? renderJson : yamlOfObject;
  const diff = objectDiff(left, right, textOf);
  documentOutput(input.terminal).write(diff);
  return diff === "" ? exitCodes.fine : exitCodes.unhealthy;
}

/** Input that is read before rendering. */
async function gathered(input: ActionInput<RenderFlags>, signal: AbortSignal) {
  const { options, flags } = input;
  const format = formatOf(flags);
  checkValues(options);
  selectorsOf(options);
  const read = componentReader(input, signal);
  const { components, notes } = await read(filesOf(options), "-f");
  const settings = await renderSettings(input, signal);
  writeNotes(notes, input);
  return { components, settings, format, read };
}

function writeNotes(
  notes: Iterable<string>,
  { flags, terminal }: Pick<ActionInput<RenderFlags>, "flags" | "terminal">,
): void {
  if (flags.quiet) return;
  terminal.stderr.write(Array.from(notes, (note) => `${plainText(note)}\n`).join(""));
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
    const refusal = versionRefusal(component);
    return refusal === undefined ? [] : [failureIn(where, refusal)];
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

function objectsOf(results: readonly RenderedComponent[]): readonly Manifest[] {
  return results.flatMap(({ objects }) => objects);
}

function sideOf(results: readonly RenderedComponent[], { options }: ActionInput<RenderFlags>) {
  const objects = selected(objectsOf(results), selectorsOf(options));
  return { objects, label: results[0]?.version ?? "" };
}

function nothingSelected({ options, terminal }: ActionInput<RenderFlags>): ExitCode {
  const error = `No object is named ${(options.only ?? []).join(" or ")}`;
  terminal.stderr.write(renderFailure({ error, causes: [], next: [] }));
  return exitCodes.unhealthy;
}

/** Writes a long text piece by piece, and waits while the reader is slow, so that the text never fills the memory. */
async function writeAll(
  output: Output,
  pieces: Iterable<string>,
  signal: AbortSignal,
): Promise<void> {
  for (const piece of pieces) {
    const isTaken = output.write(piece) !== false;
    if (!isTaken && output instanceof Writable) await once(output, "drain", { signal });
  }
}
