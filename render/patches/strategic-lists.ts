import { isRecord } from "../../api/fields.ts";
import type { Fields } from "../fields.ts";
import type { MergeRule } from "./merge-schema.ts";
import { PatchProblem } from "./patch.ts";

type Key = string | undefined;

interface ListMerge {
  readonly rule: Extract<MergeRule, { kind: "items" | "union" }>;
  /** Merges two items of a type. */
  readonly merge: (original: Fields, patch: Fields, type: string) => Fields;
}

/**
 * Merges a list with that of a strategic merge patch. Items of the patch keep the order of the patch. Each other item
 * comes before the items that it preceded in the original, as far as possible. Throws PatchProblem.
 */
export function mergedList(
  original: readonly unknown[],
  patch: readonly unknown[],
  { rule, merge }: ListMerge,
): readonly unknown[] {
  if (original.length === 0 && patch.length === 0) return original;
  assertSameKind([...original, ...patch]);
  if (!isRecord(original[0] ?? patch[0])) {
    const all = [...new Set([...original, ...patch])];
    const key = undefined;
    return inOrderOf(partitionList(all, patch, key), { order: patch, original, key });
  }
  if (rule.kind === "union") throw mergeProblem("cannot merge lists without merge key");
  const { key, type } = rule;
  const special = withoutSpecialItems(recordsOf(original), recordsOf(patch), key);
  const merged = [...special.original];
  for (const item of special.patch) {
    const at = merged.findIndex((one) => one[key] === keyValueOf(item, key));
    const found = merged[at];
    if (found === undefined) merged.push(item);
    else merged[at] = merge(found, item, type);
  }
  return inOrderOf(partitionList(merged, special.patch, key), {
    order: special.patch,
    original: special.original,
    key,
  });
}

/** Removes the items of `$deleteFromPrimitiveList`. */
export function removedFrom(
  list: readonly unknown[],
  removed: readonly unknown[],
): readonly unknown[] {
  assertSameKind([...list, ...removed]);
  return list.filter((item) => !removed.includes(item));
}

/** Items that a list names, and the others. */
export interface Partition {
  readonly named: readonly unknown[];
  readonly others: readonly unknown[];
}

/**
 * Splits a list into the items that another list names too, by key or by value, and the others. Throws PatchProblem
 * for an item without the key.
 */
export function partitionList(
  list: readonly unknown[],
  by: readonly unknown[],
  key: Key,
): Partition {
  const names = new Set(by.map((item) => nameOf(item, key)));
  const isNamed = (item: unknown): boolean => names.has(nameOf(item, key));
  return { named: list.filter(isNamed), others: list.filter((item) => !isNamed(item)) };
}

/**
 * Joins both parts: named items in the order of `order`, each other item before the first named item that it preceded
 * in the original.
 */
export function inOrderOf(
  { named, others }: Partition,
  {
    order,
    original,
    key,
  }: {
    readonly order: readonly unknown[];
    readonly original: readonly unknown[];
    readonly key: Key;
  },
): readonly unknown[] {
  const wanted = positionsIn(order, key);
  const before = positionsIn(original, key);
  const left = sortedBy(others, before, key);
  const right = sortedBy(named, wanted, key);
  const result: unknown[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length;) {
    const [one, two] = [before.get(nameOf(left[i], key)), before.get(nameOf(right[j], key))];
    const isFirst =
      j >= right.length || (i < left.length && one !== undefined && two !== undefined && one < two);
    result.push(isFirst ? left[i++] : right[j++]);
  }
  return result;
}

function positionsIn(list: readonly unknown[], key: Key): ReadonlyMap<unknown, number> {
  // The first position of a repeated name counts.
  return new Map(list.map((item, at) => [nameOf(item, key), at] as const).toReversed());
}

function sortedBy(
  list: readonly unknown[],
  positions: ReadonlyMap<unknown, number>,
  key: Key,
): readonly unknown[] {
  const at = (item: unknown): number => positions.get(nameOf(item, key)) ?? -1;
  return list.toSorted((one, two) => at(one) - at(two));
}

function nameOf(item: unknown, key: Key): unknown {
  if (key === undefined || item === undefined) return item;
  return isRecord(item) ? keyValueOf(item, key) : item;
}

interface Lists {
  readonly original: readonly Fields[];
  readonly patch: readonly Fields[];
}

/** Applies the directives among the items. A `$patch: replace` replaces the whole original. */
function withoutSpecialItems(
  original: readonly Fields[],
  patch: readonly Fields[],
  key: string,
): Lists {
  let kept = original;
  let isReplaced = false;
  const rest: Fields[] = [];
  for (const item of patch) {
    const directive = item["$patch"];
    if (!Object.hasOwn(item, "$patch")) rest.push(item);
    else if (directive === "delete") {
      const name = keyValueOf(item, key);
      kept = kept.filter((one) => one[key] !== name);
    } else if (directive === "replace") isReplaced = true;
    else throw mergeProblem("unknown patch type in a list");
  }
  return isReplaced ? { original: rest, patch: [] } : { original: kept, patch: rest };
}

function keyValueOf(item: Fields, key: string): unknown {
  if (Object.hasOwn(item, key)) return item[key];
  throw mergeProblem(`map does not contain declared merge key: ${key}`);
}

function assertSameKind(items: readonly unknown[]): void {
  if (items.some(Array.isArray)) throw mergeProblem("lists of lists are not supported");
  const kinds = new Set(items.map((item) => (item === null ? "null" : typeof item)));
  if (kinds.size > 1) throw mergeProblem("list element types are not identical");
}

function recordsOf(items: readonly unknown[]): readonly Fields[] {
  return items.filter(isRecord);
}

/** The error of a patch that cannot be merged. */
export function mergeProblem(cause: string): PatchProblem {
  return new PatchProblem(`apply strategic merge patch: ${cause}`);
}
