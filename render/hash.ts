import { createHash } from "node:crypto";

import { isRecord } from "../api/fields.ts";

/** SHA-256 of a JSON value, in hexadecimal; the order of fields does not count, absent and undefined are the same. */
export function hashOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(value)))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}
