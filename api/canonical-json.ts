import { isRecord } from "./fields.ts";

/** JSON text with the keys of every object in one order, so that equal values give equal texts. Undefined is the text `undefined`. */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return "undefined";
  // The usual case, and many times faster: servers send most things sorted.
  return JSON.stringify(isSorted(value) ? value : sorted(value));
}

function isSorted(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isSorted);
  if (!isRecord(value)) return true;
  let last = "";
  for (const name of Object.keys(value)) {
    if (name < last || !isSorted(value[name])) return false;
    last = name;
  }
  return true;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value) || JSON.isRawJSON(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}
