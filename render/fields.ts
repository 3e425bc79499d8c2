import { createHash } from "node:crypto";

import { FleetError } from "../api/errors.ts";
import { canonicalJson, isRecord } from "../api/fields.ts";
import { type Manifest, describe, keyOf } from "../api/kubernetes.ts";

/** An object whose fields are not known. */
export type Fields = Readonly<Record<string, unknown>>;

type Change = (value: unknown) => unknown;

/**
 * Changes a field wherever the path leads to one; `*` stands for every item of a list. Missing and null parts stay as
 * they are. Returns the same object when nothing changes. Throws FleetError ManifestInvalid for a part of the wrong
 * type.
 */
export function changeField(manifest: Manifest, path: readonly string[], change: Change): Manifest {
  const at = [...path];
  const first = at.shift();
  if (first === undefined || !Object.hasOwn(manifest, first)) return manifest;
  const before = manifest[first];
  const after = changeAt(before, at, { manifest, change });
  return after === before ? manifest : { ...manifest, [first]: after };
}

/** Sets entries of a map, which is created when it is missing. Returns the same object when all entries are set already. */
export function setEntries(manifest: Manifest, path: readonly string[], entries: Fields): Manifest {
  const [first, ...rest] = path;
  if (first === undefined || Object.keys(entries).length === 0) return manifest;
  const before = manifest[first];
  const after = withEntries(before, rest, { manifest, entries });
  return after === before ? manifest : { ...manifest, [first]: after };
}

/** Merges maps. The last value of a key wins. */
export function mergeFields(maps: readonly Fields[]): Fields {
  return Object.fromEntries(maps.flatMap((map) => Object.entries(map)));
}

/** Leaves out some fields of an object. Returns the same value when it has none of them or is no object. */
export function without(value: unknown, names: readonly string[]): unknown {
  if (!isRecord(value) || !names.some((name) => Object.hasOwn(value, name))) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

/** Leaves out all fields that are null, also inside lists. Null items of lists stay. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  return isRecord(value) ? withoutNullFields(value) : value;
}

/** `withoutNulls` for an object. */
export function withoutNullFields(value: Fields): Fields {
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}

/** The error of a manifest whose content is not what its kind demands. */
export function invalidManifest(manifest: Manifest, problem: string): FleetError {
  return new FleetError("ManifestInvalid", `${describe(keyOf(manifest))} ${problem}`);
}

interface Step {
  readonly manifest: Manifest;
  readonly change: Change;
}

function changeAt(value: unknown, path: readonly string[], step: Step): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return step.change(value);
  if (value === undefined || value === null) return value;
  if (first === "*") return changeItems(value, rest, step);
  const fields = fieldsOf(value, first, step.manifest);
  if (!Object.hasOwn(fields, first)) return fields;
  const after = changeAt(fields[first], rest, step);
  return after === fields[first] ? fields : { ...fields, [first]: after };
}

function changeItems(value: unknown, path: readonly string[], step: Step): unknown {
  if (!Array.isArray(value))
    throw invalidManifest(step.manifest, "has no list where one is expected");
  const items: readonly unknown[] = value;
  const after = items.map((item) => changeAt(item, path, step));
  return after.every((item, index) => item === items[index]) ? items : after;
}

function withEntries(
  value: unknown,
  path: readonly string[],
  step: { readonly manifest: Manifest; readonly entries: Fields },
): unknown {
  const [first, ...rest] = path;
  const fields = value === undefined || value === null ? {} : fieldsOf(value, first, step.manifest);
  if (first !== undefined) {
    const after = withEntries(fields[first], rest, step);
    return after === fields[first] ? value : { ...fields, [first]: after };
  }
  const same = Object.entries(step.entries).every(
    ([name, entry]) => Object.hasOwn(fields, name) && fields[name] === entry,
  );
  return same && value === fields ? value : { ...fields, ...step.entries };
}

function fieldsOf(value: unknown, field: string | undefined, manifest: Manifest): Fields {
  if (isRecord(value)) return value;
  const where = field === undefined ? "has a map" : `has something above its field ${field}`;
  throw invalidManifest(manifest, `${where} that is not an object`);
}

/** SHA-256 of a JSON value, in hexadecimal. The order of fields does not matter; absent and undefined are equal. */
export function hashOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

/** Changes one object of a release: pure, returns the same object when nothing changes, throws FleetError ManifestInvalid. */
export type Transform = (manifest: Manifest) => Manifest;
