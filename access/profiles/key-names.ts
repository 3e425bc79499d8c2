import { foreignText } from "../../api/foreign-text.ts";

const shown = 8;
const longestName = 64;

/** The keys of a Secret or ConfigMap for a message, as the end of "it has": eight names at the most, and never a value. */
export function keyNames(data: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(data).toSorted();
  if (names.length === 0) return "no keys";
  const first = names.slice(0, shown).map((name) => foreignText(name, longestName));
  const more = names.length > shown ? ` and ${names.length - shown} more` : "";
  return `the ${names.length === 1 ? "key" : "keys"} ${first.join(", ")}${more}`;
}
