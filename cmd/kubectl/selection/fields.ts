import { isRecord } from "../../../api/fields.ts";

/** The value at a path of field names. Undefined where a part of the path is not an object. */
function valueAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, field) => (isRecord(at) ? at[field] : undefined), value);
}

/** The string at a path. Null for anything else, also for the empty string. */
export function stringAt(value: unknown, ...path: readonly string[]): string | null {
  const found = valueAt(value, ...path);
  return typeof found === "string" && found !== "" ? found : null;
}

/** The number at a path. Null for anything else. */
export function numberAt(value: unknown, ...path: readonly string[]): number | null {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : null;
}

/** The items of the array at a path. Empty for anything else. */
export function itemsAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}
