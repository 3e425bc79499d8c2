import { isRecord } from "./fields.ts";

/**
 * JSON text of a JSON value with the keys of every object sorted by code units, so that equal values give equal texts. Undefined fields are
 * left out; undefined is the text `undefined`.
 */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return "undefined";
  // The usual case, and many times faster: servers send most things sorted.
  return isSorted(value) ? JSON.stringify(value) : sortedText(value);
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

function sortedText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (!isRecord(value) || JSON.isRawJSON(value)) return JSON.stringify(value);
  const fields = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${sortedText(value[name])}`);
  return `{${fields.join(",")}}`;
}
