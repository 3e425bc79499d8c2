import { setImmediate } from "node:timers/promises";

import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { listAt, recordAt, textAt } from "../../../api/fields.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import type { ResourcePatch } from "../../../render/patches/patch.ts";
import { applyPatch, assertPatch, maxPatches } from "../../../render/patches/patches.ts";
import { quantityOf } from "../containers.ts";
import { below, elementsOf, type Entry, type Fields, type Problem, quoteValue } from "../rule.ts";

const kinds = ["Deployment", "StatefulSet", "Job"];
const divisible = ["cpu", "memory", "ephemeral-storage"];

/**
 * What the target cluster would refuse about workloads that a spec changes: labels that the workload's selector does not match any more, and
 * requests above their limits. Each names the field of the spec that is the cause. Problems of the release itself are left out.
 */
export function renderedProblems(
  { spec = {} }: Component,
  manifests: readonly Manifest[],
): readonly Problem[] {
  const fields: Fields = { ...spec };
  const all = manifests
    .filter(({ kind }) => kinds.includes(kind))
    .flatMap((manifest) => [
      ...labelProblems(fields, manifest),
      ...listAt(recordAt(manifest, "spec", "template", "spec"), "containers").flatMap((container) =>
        requestProblems(fields, manifest, recordAt(container)),
      ),
    ]);
  // One entry of the spec can be the cause in several workloads.
  return [...new Map(all.map((one) => [`${one.path}: ${one.message}`, one])).values()];
}

function labelProblems(spec: Fields, manifest: Manifest): readonly Problem[] {
  const selector = recordAt(manifest, "spec", "selector", "matchLabels");
  const labels = recordAt(manifest, "spec", "template", "metadata", "labels");
  return Object.entries(selector).flatMap(([key, value]) => {
    if (labels[key] === value) return [];
    const cause = overridesOf(spec, manifest).findLast(
      ([entry]) => recordAt(entry, "labels")[key] === labels[key],
    );
    if (cause === undefined) return [];
    const message = `must stay ${quoteValue(value)}, because the workload finds its pods by it`;
    return [{ path: below(cause[1], "labels", key), message }];
  });
}

function requestProblems(spec: Fields, manifest: Manifest, container: Fields): readonly Problem[] {
  const requests = recordAt(container, "resources", "requests");
  const limits = recordAt(container, "resources", "limits");
  return Object.entries(requests).flatMap(([name, request]) => {
    const [wanted, most] = [quantityOf(request), quantityOf(limits[name])];
    const problem = fits(name, wanted, most);
    if (problem === undefined) return [];
    const settings = settingsOf(spec, manifest, textAt(container, "name") ?? "");
    for (const field of ["requests", "limits"]) {
      const cause = settings.findLast(([entry]) => recordAt(entry, field)[name] !== undefined);
      const message = `the request ${quoteValue(request)} ${problem}${most === undefined ? "" : ` ${quoteValue(limits[name])}`}`;
      if (cause !== undefined) return [{ path: below(cause[1], field, name), message }];
    }
    return [];
  });
}

function fits(
  name: string,
  request: number | undefined,
  limit: number | undefined,
): string | undefined {
  if (request === undefined) return undefined;
  if (limit !== undefined && request > limit) return "is above the limit";
  if (divisible.includes(name) || request === limit) return undefined;
  return limit === undefined ? "needs a limit of the same amount" : "must be equal to the limit";
}

/** The overrides of one workload, in the order in which they are applied. */
function overridesOf(spec: Fields, { kind, metadata }: Manifest): readonly Entry[] {
  const { name = "", generateName } = metadata;
  // A Job is named after its generateName and the version.
  const isOf = (wanted: unknown): boolean =>
    kind === "Job" && typeof wanted === "string"
      ? wanted === generateName || (wanted !== "" && name.startsWith(wanted))
      : wanted === name;
  return ["deployments", "workloads"]
    .flatMap((field) => elementsOf(spec[field], below("spec", field)))
    .filter(([entry]) => isOf(entry["name"]));
}

/** The settings of the resources of one container, in the order in which they are applied. */
function settingsOf(spec: Fields, manifest: Manifest, container: string): readonly Entry[] {
  const own = overridesOf(spec, manifest).flatMap(([entry, path]) =>
    elementsOf(entry["resources"], below(path, "resources")),
  );
  return [...elementsOf(spec["resources"], below("spec", "resources")), ...own].filter(
    ([entry]) => entry["container"] === container,
  );
}

/** The objects of a component without its patches, for each namespace that it may be installed in. */
interface WholeSet {
  readonly namespaces: Iterable<string>;
  readonly renderIn: (namespace: string) => Promise<readonly Manifest[]>;
}

/**
 * What is wrong with `spec.patches`. Without `whole` the patched object may be in a manifest of the user, so only the content of a patch is checked. Rejects
 * with FleetError where the set cannot be rendered, and with the reason of the signal.
 */
export async function patchProblems(
  component: Component,
  whole: WholeSet | undefined,
  signal: AbortSignal,
): Promise<readonly Problem[]> {
  const patches = component.spec?.patches ?? [];
  // The rule `patches` refuses too many of them.
  if (patches.length === 0 || patches.length > maxPatches) return [];
  const { kind } = component;
  if (whole === undefined) {
    return problemsOf(patches, (patch, index) => assertPatch({ patch, index }, kind), signal);
  }
  // A patch that works in one namespace is not refused.
  let first: readonly Problem[] | undefined;
  for (const namespace of whole.namespaces) {
    const manifests: (Manifest | undefined)[] = [...(await whole.renderIn(namespace))];
    const found = await problemsOf(
      patches,
      (patch, index) => applyPatch(manifests, { patch, index }, kind),
      signal,
    );
    if (found.length === 0) return [];
    first ??= found;
  }
  return first ?? [];
}

async function problemsOf(
  patches: readonly ResourcePatch[],
  check: (patch: ResourcePatch, index: number) => unknown,
  signal: AbortSignal,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  for (const [index, patch] of patches.entries()) {
    // Lets other reviews go on.
    await setImmediate();
    signal.throwIfAborted();
    try {
      check(patch, index);
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      const message = `${error.reason}: ${error.message}`;
      problems.push({ path: `spec.patches[${index}]`, message });
    }
  }
  return problems;
}
