import { UsageError } from "../usage-error.ts";
import { textOf, valuesAt } from "./jsonpath/evaluate-jsonpath.ts";
import { relaxedPath } from "./jsonpath/relaxed-path.ts";

/** A document whose items are ordered by a field of each. Throws UsageError for a path that cannot be read, or whose first field no item has. */
export function sortedBy<Document extends { readonly items: readonly unknown[] }>(
  document: Document,
  path: string | undefined,
): Document {
  if (path === undefined) return document;
  const [first] = relaxedPath(path);
  const { items } = document;
  const isKnown =
    first === undefined || items.some((item) => valuesAt(item, [first])[0] !== undefined);
  if (items.length === 0 || isKnown) return orderedBy(document, path);
  throw new UsageError(`--sort-by ${path}: no item has such a field`, [
    "The fields are those of -o json.",
  ]);
}

/**
 * The same without a look at whether there is such a field: numbers as numbers, items without it first, equal ones in their
 * order. Throws UsageError for a path that cannot be read.
 */
export function orderedBy<Document extends { readonly items: readonly unknown[] }>(
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
