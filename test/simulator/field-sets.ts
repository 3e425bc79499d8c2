import { isRecord, isSameJson } from "../../api/fields.ts";
import type { Json, JsonObject } from "../../api/kubernetes.ts";

/**
 * A set of fields in the format of `managedFields`: `{"f:spec": {"f:size": {}}}`. A list is one field, because the simulator merges none.
 * Spec: Kubernetes server-side apply, field management.
 */
export type FieldSet = JsonObject;

/** The fields of an object. */
export function fieldsOf(object: JsonObject): FieldSet {
  return Object.fromEntries(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [`f:${field}`, isObject(value) ? fieldsOf(value) : {}]),
  );
}

export function isEmptySet(fields: FieldSet): boolean {
  return Object.keys(fields).length === 0;
}

/** The fields of the first that are not in the second. */
export function minus(fields: FieldSet, others: FieldSet): FieldSet {
  return eachField(fields, (step, inner) => {
    const other = others[step];
    if (other === undefined) return inner;
    if (isLeaf(inner) || !isObject(other) || isLeaf(other)) return undefined;
    const left = minus(inner, other);
    return isEmptySet(left) ? undefined : left;
  });
}

/** The fields of both. */
export function plus(fields: FieldSet, others: FieldSet): FieldSet {
  const joined = Object.entries(others).map(([step, inner]): [string, Json] => {
    const own = fields[step];
    return [step, isObject(own) && isObject(inner) ? plus(own, inner) : (inner ?? {})];
  });
  return { ...fields, ...Object.fromEntries(joined) };
}

/** The fields that have another value, or none, in the second object. */
export function changedFields(before: JsonObject, after: JsonObject): FieldSet {
  const entries = Object.entries(before).flatMap(([field, value]): [string, Json][] => {
    const next = after[field];
    if (value === undefined || isSameJson(value, next)) return [];
    if (!isObject(value)) return [[`f:${field}`, {}]];
    if (!isObject(next)) return [[`f:${field}`, fieldsOf(value)]];
    const inner = changedFields(value, next);
    return isEmptySet(inner) ? [] : [[`f:${field}`, inner]];
  });
  return Object.fromEntries(entries);
}

/** An object without the fields of a set. Objects that are left empty stay. */
export function without(object: JsonObject, gone: FieldSet): JsonObject {
  const entries = Object.entries(object).flatMap(([field, value]): [string, Json | undefined][] => {
    const inner = gone[`f:${field}`];
    if (inner === undefined) return [[field, value]];
    if (!isObject(inner) || isLeaf(inner)) return [];
    return [[field, isObject(value) ? without(value, inner) : value]];
  });
  return Object.fromEntries(entries);
}

/** The path of each field, as causes of a conflict name it: `.spec.size`. */
export function pathsOf(fields: FieldSet, path = ""): readonly string[] {
  return Object.entries(fields).flatMap(([step, inner]) => {
    const here = `${path}.${step.slice(2)}`;
    return isObject(inner) && !isLeaf(inner) ? pathsOf(inner, here) : [here];
  });
}

function eachField(
  fields: FieldSet,
  next: (step: string, inner: FieldSet) => FieldSet | undefined,
): FieldSet {
  const entries = Object.entries(fields).flatMap(([step, inner]): [string, Json][] => {
    const kept = isObject(inner) ? next(step, inner) : undefined;
    return kept === undefined ? [] : [[step, kept]];
  });
  return Object.fromEntries(entries);
}

function isLeaf(fields: FieldSet): boolean {
  return isEmptySet(fields);
}

function isObject(value: unknown): value is JsonObject {
  return isRecord(value);
}
