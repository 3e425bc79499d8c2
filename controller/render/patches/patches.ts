import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { keyOf, type Manifest, type ObjectKey } from "../../../api/kubernetes.ts";
import { PatchProblem } from "./patch-problem.ts";
import { patchedManifest } from "./patched-manifest.ts";
import type { ResourcePatch } from "./resource-patch.ts";

/** The objects of a component after its patches. */
export interface Patched {
  readonly manifests: readonly Manifest[];
  /** What patches took out of the set and is to be deleted from the cluster, in the order in which that is done: the last one first. */
  readonly deletions: readonly ObjectKey[];
}

const maxPatches = 64;

/**
 * Applies `spec.patches` one after the other, each to the one object that it names. Throws FleetError ManifestInvalid, in upstream's words, with the number of the
 * patch. Spec: parity.md 1.
 */
export function patched({ kind, spec }: Component, manifests: readonly Manifest[]): Patched {
  const patches = spec?.patches ?? [];
  if (patches.length > maxPatches) {
    throw new FleetError(
      "ManifestInvalid",
      `spec.patches: must not hold more than ${maxPatches} patches`,
    );
  }
  const current: (Manifest | undefined)[] = [...manifests];
  const deletions: ObjectKey[] = [];
  for (const [index, patch] of patches.entries()) {
    try {
      const at = indexOfTarget(patch.target, current);
      const before = current[at];
      if (before === undefined) continue;
      current[at] = patchedManifest(before, patch, kind);
      if (current[at] === undefined) deletions.unshift(keyOf(before));
    } catch (error) {
      if (!(error instanceof PatchProblem)) throw error;
      const text = `patch ${index} target ${describeTarget(patch.target)}: ${error.message}`;
      throw new FleetError("ManifestInvalid", text);
    }
  }
  return { manifests: current.filter((manifest) => manifest !== undefined), deletions };
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
