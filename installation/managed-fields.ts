import { createHash } from "node:crypto";

import { canonicalJson } from "../api/fields.ts";
import type { Json, JsonObject, ManagedFieldsEntry, Manifest } from "../api/kubernetes.ts";

/**
 * Hash of the fields that our server-side apply owns on an object; undefined when it owns none. The hash changes
 * exactly when another writer changes or removes one of these fields, except for the order of keyed lists. Spec:
 * engine-facts.md 3.
 */
export function fingerprintOf(object: Manifest, fieldManager: string): string | undefined {
  const entry = ownEntry(object, fieldManager);
  if (entry?.fieldsV1 === undefined) return undefined;
  const digest = createHash("sha256").update(canonicalJson(entry.fieldsV1)).digest("base64url");
  return digest.slice(0, 22);
}

/**
 * Time of the last change by our server-side apply, in whole seconds of the clock of the server. Other writers and
 * applies without a change do not move it. Undefined when it owns no field. Spec: engine-facts.md 3.
 */
export function appliedAtOf(object: Manifest, fieldManager: string): number | undefined {
  const { time = "" } = ownEntry(object, fieldManager) ?? {};
  const at = Date.parse(time);
  // V8 stores small integers without an object for each.
  return Number.isNaN(at) ? undefined : Math.trunc(at / 1_000);
}

/** The entry of our server-side apply in the managedFields of an object. */
export function ownEntry(
  { metadata }: Pick<Manifest, "metadata">,
  fieldManager: string,
): ManagedFieldsEntry | undefined {
  return metadata.managedFields?.find((entry) => isOwnEntry(entry, fieldManager));
}

/** Whether an entry of managedFields is of our server-side apply, and not of a subresource. */
export function isOwnEntry(
  { manager, operation, subresource = "" }: ManagedFieldsEntry,
  fieldManager: string,
): boolean {
  return manager === fieldManager && operation === "Apply" && subresource === "";
}

/**
 * A set of fields in the format of `managedFields`: nested steps (`f:spec`, `k:{"name":"a"}`). An empty object is a
 * member; a member with members below it has the step `.`. At the top an empty object is the empty set.
 */
export type FieldSet = JsonObject;

/** All fields of both sets. */
export function unionOfFields(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a)) return b;
  return isEmpty(b) ? a : joinSets(a, b);
}

/** The fields of the first set that the second set lacks. Returns the first set when they share none. */
export function withoutFields(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a;
  return subtractSet(a, b) ?? {};
}

/** The fields at a path and below it, empty when there are none; `*` stands for any one step. */
export function fieldsAt(set: FieldSet, path: readonly string[]): FieldSet {
  return below(set, path) ?? {};
}

/** Whether a set has a field or one below it. */
export function hasField(set: FieldSet, path: readonly string[]): boolean {
  return below(set, path) !== undefined;
}

/** The next steps after a path. */
export function stepsAt(set: FieldSet, path: readonly string[]): readonly string[] {
  let place: FieldSet = set;
  for (const step of path) {
    const next = place[step];
    if (!isFieldSet(next)) return [];
    place = next;
  }
  return Object.keys(place);
}

/** Whether a set has no field at all. */
export function isEmpty(set: FieldSet): boolean {
  return Object.keys(set).length === 0;
}

/** Whether a value of a set is itself a set. */
export function isFieldSet(value: Json | undefined): value is FieldSet {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function joinSets(a: FieldSet, b: FieldSet): FieldSet {
  const result: Record<string, Json | undefined> = { ...openSet(a) };
  for (const [step, theirs] of Object.entries(openSet(b))) {
    const own = result[step];
    const both = isFieldSet(own) && isFieldSet(theirs) && step !== ".";
    result[step] = both ? joinSets(own, theirs) : theirs;
  }
  return closeSet(result);
}

function subtractSet(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const [before, taken] = [Object.entries(openSet(a)), openSet(b)];
  const left = before.flatMap(([step, own]): readonly [string, Json | undefined][] => {
    const gone = taken[step];
    if (!isFieldSet(gone) || !isFieldSet(own)) return [[step, own]];
    const rest = step === "." ? undefined : subtractSet(own, gone);
    return rest === undefined ? [] : [[step, rest]];
  });
  if (left.length === 0) return undefined;
  const isSame = left.length === before.length && left.every(([step, own]) => own === a[step]);
  return isSame ? a : closeSet(Object.fromEntries(left));
}

function below(set: FieldSet, path: readonly string[]): FieldSet | undefined {
  const [first, ...rest] = path;
  if (first === undefined) return set;
  const steps = first === "*" ? Object.keys(set).filter((step) => step !== ".") : [first];
  const found = steps.flatMap((step): readonly [string, FieldSet][] => {
    const child = set[step];
    const kept = isFieldSet(child) ? below(child, rest) : undefined;
    return kept === undefined ? [] : [[step, kept]];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

function openSet(set: FieldSet): FieldSet {
  return isEmpty(set) ? { ".": {} } : set;
}

function closeSet(set: FieldSet): FieldSet {
  const steps = Object.keys(set);
  return steps.length === 1 && steps[0] === "." ? {} : set;
}
