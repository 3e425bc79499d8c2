import { setImmediate } from "node:timers/promises";

import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { applyPatch, assertPatch, maxPatches } from "../../../render/patches/patches.ts";
import type { ResourcePatch } from "../../../render/patches/resource-patch.ts";
import type { RenderProblem } from "../../reviews/render-check.ts";

/** What a component installs without its patches, in each of the namespaces that it may be installed in. */
interface WholeSet {
  readonly namespaces: Iterable<string>;
  readonly renderIn: (namespace: string) => Promise<readonly Manifest[]>;
}

/**
 * What is wrong with `spec.patches`. With manifests that nobody has looked at, a patch may be of one of those, so that only its content is checked. Rejects
 * with FleetError where the set cannot be rendered, and with the reason of the signal.
 */
export async function patchProblems(
  component: Component,
  whole: WholeSet | undefined,
  signal: AbortSignal,
): Promise<readonly RenderProblem[]> {
  const patches = component.spec?.patches ?? [];
  // Too many are refused as a whole.
  if (patches.length === 0 || patches.length > maxPatches) return [];
  const { kind } = component;
  if (whole === undefined) {
    return problemsOf(patches, (patch, index) => assertPatch({ patch, index }, kind), signal);
  }
  // What holds in one of them is not refused.
  let first: readonly RenderProblem[] | undefined;
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
): Promise<readonly RenderProblem[]> {
  const problems: RenderProblem[] = [];
  for (const [index, patch] of patches.entries()) {
    // Other reviews go on in between.
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
