import { isRecord, isSameJson } from "../api/fields.ts";
import { setFieldManager } from "../api/fleet-set.ts";
import type { ManagedFieldsEntry } from "../api/kubernetes.ts";

/** The path of the first field whose desired value differs from the live one; undefined when none does. Ignores fields that only the live value has. */
export function differingField(
  desired: unknown,
  live: unknown,
  path: readonly string[] = [],
): readonly string[] | undefined {
  if (desired === null && live === undefined) return undefined;
  const pairs = pairsOf(desired, live);
  if (pairs === undefined) return isSameJson(desired, live) ? undefined : path;
  for (const [name, one, other] of pairs) {
    const field = differingField(one, other, [...path, name]);
    if (field !== undefined) return field;
  }
  return undefined;
}

/** The fields or elements to compare; undefined for values that are compared as a whole. */
function pairsOf(
  desired: unknown,
  live: unknown,
): readonly [string, unknown, unknown][] | undefined {
  if (isRecord(desired) && isRecord(live)) {
    return Object.entries(desired).map(([name, value]) => [name, value, live[name]]);
  }
  const areLists = Array.isArray(desired) && Array.isArray(live) && desired.length === live.length;
  if (!areLists) return undefined;
  return desired.map((value: unknown, at) => [String(at), value, live[at]]);
}

/** The field manager besides the set that wrote a field of the spec last; undefined when the managedFields name none. */
export function fieldManagerOf(
  entries: readonly ManagedFieldsEntry[],
  path: readonly string[],
): string | undefined {
  return entries
    .filter(({ manager, subresource }) => manager !== setFieldManager && subresource === undefined)
    .filter(({ fieldsV1 }) => isOwned(fieldsV1, ["spec", ...path]))
    .toSorted((a, b) => compareTimes(b.time, a.time))
    .at(0)?.manager;
}

/** Lists and objects that are written as a whole have no fields in it. */
function isOwned(fields: unknown, path: readonly string[]): boolean {
  if (!isRecord(fields)) return false;
  const name = path.at(0);
  if (name === undefined || Object.keys(fields).length === 0) return true;
  return isOwned(fields[`f:${name}`], path.slice(1));
}

function compareTimes(a = "", b = ""): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
