import { isRecord, isSameJson } from "../api/fields.ts";

/** The path of the first field whose desired value differs from the live one; undefined when none does. Ignores fields that only the live value has. */
export function differingField(
  desired: unknown,
  live: unknown,
  path: readonly string[],
): string | undefined {
  if (desired === null && live === undefined) return undefined;
  const pairs = pairsOf(desired, live);
  if (pairs === undefined) return isSameJson(desired, live) ? undefined : path.join(".");
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
