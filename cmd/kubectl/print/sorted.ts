import { textOf, valuesAt } from "../jsonpath/evaluate-jsonpath.ts";
import { relaxedPath } from "../jsonpath/relaxed-path.ts";

/**
 * A document whose items are ordered by a field of each, numbers as numbers; items without it come first, and equal ones stay
 * in their order. Throws UsageError for a path that cannot be read.
 */
export function sortedBy<Document extends { readonly items: readonly unknown[] }>(
  document: Document,
  path: string | undefined,
): Document {
  if (path === undefined) return document;
  const steps = relaxedPath(path);
  const keyed = document.items.map((item) => ({ item, key: valuesAt(item, steps)[0] }));
  const items = keyed.toSorted((a, b) => orderOf(a.key, b.key)).map(({ item }) => item);
  return { ...document, items };
}

function orderOf(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [one, other] = [textOf(a), textOf(b)];
  return one < other ? -1 : Number(one > other);
}
