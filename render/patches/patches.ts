import type { Component, ComponentKind } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { keyOf, type Manifest, type ObjectKey } from "../../api/kubernetes.ts";
import { PatchProblem, type ResourcePatch } from "./patch.ts";
import { assertContent, patchedManifest } from "./patched-manifest.ts";

/** The objects of a component after its patches. */
export interface Patched {
  readonly manifests: readonly Manifest[];
  /** Objects that patches deleted, in the order in which they are deleted from the cluster: the last one first. */
  readonly deletions: readonly ObjectKey[];
}

/** Most patches of one component. */
export const maxPatches = 64;

/**
 * Applies `spec.patches` in order, each to the one object that it names. Throws FleetError ManifestInvalid with the
 * text of upstream and the number of the patch. Spec: parity.md 1.
 */
export function applyPatches({ kind, spec }: Component, manifests: readonly Manifest[]): Patched {
  const patches = spec?.patches ?? [];
  if (patches.length > maxPatches) {
    throw new FleetError(
      "ManifestInvalid",
      `spec.patches: must not hold more than ${maxPatches} patches`,
    );
  }
  const current: (Manifest | undefined)[] = [...manifests];
  const deletions = patches.flatMap(
    (patch, index) => applyPatch(current, { patch, index }, kind) ?? [],
  );
  return {
    manifests: current.filter((manifest) => manifest !== undefined),
    deletions: deletions.toReversed(),
  };
}

interface Numbered {
  readonly patch: ResourcePatch;
  readonly index: number;
}

/**
 * Applies one patch to its object in the list. A deleted object becomes undefined and its key is returned. Throws
 * FleetError ManifestInvalid.
 */
export function applyPatch(
  manifests: (Manifest | undefined)[],
  numbered: Numbered,
  component: ComponentKind,
): ObjectKey | undefined {
  return withNumber(numbered, (patch) => {
    const at = indexOfTarget(patch.target, manifests);
    const before = manifests[at];
    if (before === undefined) return undefined;
    const after = patchedManifest(before, patch, component);
    manifests[at] = after;
    return after === undefined ? keyOf(before) : undefined;
  });
}

/** Checks the patches of a component without their targets. Throws FleetError ManifestInvalid. */
export function assertPatch(numbered: Numbered, component: ComponentKind): void {
  withNumber(numbered, (patch) => assertContent(patch, component));
}

function withNumber<Result>(
  { patch, index }: Numbered,
  work: (patch: ResourcePatch) => Result,
): Result {
  try {
    return work(patch);
  } catch (error) {
    if (!(error instanceof PatchProblem)) throw error;
    const text = `patch ${index} target ${describeTarget(patch.target)}: ${error.message}`;
    throw new FleetError("ManifestInvalid", text);
  }
}

type PatchTarget = ResourcePatch["target"];

function describeTarget({ apiVersion, kind, namespace = "", name }: PatchTarget): string {
  return `${apiVersion}, Kind=${kind}, ${namespace === "" ? "*" : namespace}/${name}`;
}

function indexOfTarget(target: PatchTarget, manifests: readonly (Manifest | undefined)[]): number {
  const found = manifests.flatMap((manifest, at) => (isTarget(target, manifest) ? [at] : []));
  const [first] = found;
  if (first === undefined) throw new PatchProblem("did not match any generated resource");
  if (found.length === 1) return first;
  const advice =
    (target.namespace ?? "") === ""
      ? "specify target.namespace"
      : "target must match exactly one resource";
  throw new PatchProblem(`matched ${found.length} generated resources; ${advice}`);
}

function isTarget(
  { apiVersion, kind, namespace = "", name }: PatchTarget,
  manifest: Manifest | undefined,
): boolean {
  return (
    manifest?.kind === kind &&
    manifest.apiVersion === apiVersion &&
    manifest.metadata.name === name &&
    (namespace === "" || manifest.metadata.namespace === namespace)
  );
}
