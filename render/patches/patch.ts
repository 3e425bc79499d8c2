import type { Component } from "../../api/component.ts";
import { isRecord, isSameJson, recordAt } from "../../api/fields.ts";
import { tokensOf } from "../../api/json-pointer.ts";
import type { Fields } from "../fields.ts";

/**
 * A patch that cannot be applied; patches.ts adds its number and target. The message holds no value of the patch,
 * which may be secret.
 */
export class PatchProblem extends Error {
  override readonly name = "PatchProblem";
}

/** One entry of `spec.patches`. */
export type ResourcePatch = NonNullable<NonNullable<Component["spec"]>["patches"]>[number];

const ownPrefixes = ["knfleet.dev/", "operator.knative.dev/"];
const ownLists = ["ownerReferences", "finalizers"];
const maps = ["labels", "annotations"];

/**
 * The field of knfleet that a patch names, such as `metadata.labels["knfleet.dev/x"]`, or undefined. An installation
 * is found, kept and removed by these fields. They are set after all patches, so patches do not see them. Spec:
 * parity.md 1.
 */
export function ownFieldNamed(patch: unknown): string | undefined {
  if (!Array.isArray(patch)) return fieldIn(metadataOf(patch));
  const paths = patch.filter(isRecord).flatMap(({ path, from }) => [path, from]);
  for (const path of paths) {
    if (typeof path !== "string") continue;
    const [first, list = "", name = ""] = tokensOf(path);
    if (first !== "metadata") continue;
    if (ownLists.includes(list)) return `metadata.${list}`;
    if (maps.includes(list) && isOwn(name)) return pathOf(list, name);
  }
  return undefined;
}

function fieldIn(metadata: Fields): string | undefined {
  for (const name of Object.keys(metadata)) {
    const list = name.replace(/^\$\w+\//, "");
    if (ownLists.includes(list)) return `metadata.${list}`;
  }
  for (const map of maps) {
    const name = Object.keys(recordAt(metadata, map)).find(isOwn);
    if (name !== undefined) return pathOf(map, name);
  }
  return undefined;
}

/** The field of knfleet that a patch changed, or undefined. */
export function ownFieldChanged(original: Fields, patched: Fields): string | undefined {
  const [before, after] = [metadataOf(original), metadataOf(patched)];
  const list = ownLists.find((name) => !isSameJson(before[name], after[name]));
  if (list !== undefined) return `metadata.${list}`;
  for (const map of maps) {
    const [was, is] = [recordAt(before, map), recordAt(after, map)];
    const name = Object.keys({ ...was, ...is }).find((one) => isOwn(one) && was[one] !== is[one]);
    if (name !== undefined) return pathOf(map, name);
  }
  return undefined;
}

function isOwn(name: string): boolean {
  return ownPrefixes.some((prefix) => name.startsWith(prefix));
}

function pathOf(map: string, name: string): string {
  return `metadata.${map}[${JSON.stringify(name)}]`;
}

function metadataOf(value: unknown): Fields {
  return recordAt(value, "metadata");
}
