import { isRecord } from "../../api/fields.ts";
import type { Fields } from "../fields.ts";

/**
 * A JSON merge patch (RFC 7386) of an object. As upstream's library has it, null items of lists stay, and fields that are null inside of list items
 * are left out, unless the list takes the place of a map.
 */
export function mergePatched(original: Fields, patch: Fields): Fields {
  const result: Record<string, unknown> = { ...original };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = patchedValue(result[name], value);
  }
  return result;
}

function patchedValue(before: unknown, value: unknown): unknown {
  if (!isRecord(before)) return withoutNulls(value);
  return isRecord(value) ? mergePatched(before, value) : value;
}

/** A value without the fields that are null, also inside of lists, whose null items stay. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  return isRecord(value) ? withoutNullFields(value) : value;
}

/** The same of an object. */
export function withoutNullFields(value: Fields): Fields {
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}
