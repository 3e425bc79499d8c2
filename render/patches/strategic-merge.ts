import { isRecord } from "../../api/fields.ts";
import { type Fields, withoutNulls } from "../fields.ts";
import { type MergeRule, mergeRule } from "./merge-schema.ts";
import {
  inOrderOf,
  mergedList,
  mergeProblem,
  partitionList,
  removedFrom,
} from "./strategic-lists.ts";

const deletionPrefix = "$deleteFromPrimitiveList";
const orderPrefix = "$setElementOrder";

/**
 * Applies a strategic merge patch with its directives to an object of a type (merge-schema.ts), as the library of
 * Kubernetes does. The patch is applied to the object of the release, not on the cluster. Throws PatchProblem. Spec:
 * parity.md 1.
 */
export function strategicMerged(original: Fields, patch: Fields, type: string): Fields {
  if (Object.hasOwn(patch, "$patch")) return applyDirective(patch);
  const { $retainKeys: _, ...rest } = patch;
  const changes: Record<string, unknown> = { ...rest };
  const result = keepNamedKeys(original, patch);
  for (const [name, order] of Object.entries(rest)) {
    if (!name.startsWith(orderPrefix)) continue;
    delete changes[name];
    const field = fieldAfter(name, orderPrefix);
    const list = orderedField({ before: result[field], changes, field, order }, type);
    if (list === undefined) continue;
    result[field] = list;
    delete changes[field];
  }
  for (const [name, value] of Object.entries(changes)) {
    const isDeletion = name.startsWith(deletionPrefix);
    const field = isDeletion ? fieldAfter(name, deletionPrefix) : name;
    if (value === null) delete result[field];
    else if (isDeletion) {
      if (Array.isArray(result[field]) && Array.isArray(value)) {
        result[field] = removedFrom(result[field], value);
      }
    } else setField(result, { field, value }, type);
  }
  return result;
}

/** Applies the `$patch` directive of a map to that map. */
function applyDirective(patch: Fields): Fields {
  const { $patch: directive, ...rest } = patch;
  if (directive === "replace") return rest;
  if (directive === "delete") return {};
  const said = typeof directive === "string" ? directive.slice(0, 64) : typeof directive;
  throw mergeProblem(`unknown patch type: ${said} in map`);
}

function keepNamedKeys(original: Fields, patch: Fields): Record<string, unknown> {
  const { $retainKeys: keys } = patch;
  if (keys === undefined) return { ...original };
  if (!Array.isArray(keys)) throw mergeProblem("$retainKeys is no list");
  const names = new Set<unknown>(keys);
  const lacking = Object.entries(patch).find(
    ([name, value]) =>
      name !== "$retainKeys" &&
      value !== null &&
      !name.startsWith(deletionPrefix) &&
      !name.startsWith(orderPrefix) &&
      !names.has(name),
  );
  if (lacking !== undefined)
    throw mergeProblem(`$retainKeys lacks ${lacking[0]}, which the patch sets`);
  return Object.fromEntries(Object.entries(original).filter(([name]) => names.has(name)));
}

function fieldAfter(name: string, prefix: string): string {
  if (name.startsWith(`${prefix}/`)) return name.slice(prefix.length + 1);
  throw mergeProblem(`${prefix} has no field after a slash`);
}

/** Sets a field, or merges it where both values are maps or both are lists. */
function setField(
  result: Record<string, unknown>,
  { field, value }: { readonly field: string; readonly value: unknown },
  type: string,
): void {
  const before = result[field];
  if (isRecord(before) && isRecord(value)) {
    const rule = mergeRule(type, field);
    if (rule.kind === "atomic") result[field] = value;
    else result[field] = strategicMerged(before, value, rule.kind === "map" ? rule.type : "leaf");
    return;
  }
  if (Array.isArray(before) && Array.isArray(value)) {
    result[field] = mergedLists(before, value, mergeRule(type, field));
    return;
  }
  const { isDirective, rest } = withoutDirectives(withoutNulls(value));
  if (isDirective) delete result[field];
  else result[field] = rest;
}

function mergedLists(
  before: readonly unknown[],
  value: readonly unknown[],
  rule: MergeRule,
): readonly unknown[] {
  if (rule.kind === "atomic" || rule.kind === "map") return value;
  return mergedList(before, value, { rule, merge: strategicMerged });
}

interface Ordered {
  readonly before: unknown;
  readonly changes: Fields;
  readonly field: string;
  readonly order: unknown;
}

/** A list in the order of `$setElementOrder`; undefined where there is no such list. */
function orderedField(
  { before, changes, field, order }: Ordered,
  type: string,
): readonly unknown[] | undefined {
  if (!Array.isArray(order)) throw mergeProblem(`${orderPrefix}/${field} is no list`);
  const value = changes[field];
  const sides = [before, value].filter((side) => side !== undefined);
  if (sides.some((side) => !Array.isArray(side))) {
    throw mergeProblem(`${orderPrefix}/${field} is about something that is no list`);
  }
  const rule = mergeRule(type, field);
  const key = rule.kind === "items" ? rule.key : undefined;
  const original: readonly unknown[] = Array.isArray(before) ? before : [];
  const patch: readonly unknown[] = Array.isArray(value) ? value : [];
  assertInOrder(patch, order, { field, key });
  if (sides.length === 0) return undefined;
  const merged =
    before === undefined
      ? patch.map(withoutDirectives).flatMap(({ isDirective, rest }) => (isDirective ? [] : [rest]))
      : value === undefined
        ? original
        : mergedLists(original, patch, rule);
  return inOrderOf(partitionList(merged, order, key), { order, original, key });
}

/** Throws PatchProblem when items of the patch are not in the order that its directive names. */
function assertInOrder(
  patch: readonly unknown[],
  order: readonly unknown[],
  { field, key }: { readonly field: string; readonly key: string | undefined },
): void {
  if (patch.length === 0 || order.length === 0) return;
  const identity = (item: unknown): unknown =>
    key !== undefined && isRecord(item) ? item[key] : item;
  const items = patch.filter((item) => !isRecord(item) || !Object.hasOwn(item, "$patch"));
  let at = 0;
  for (const wanted of order)
    if (at < items.length && identity(items[at]) === identity(wanted)) at += 1;
  if (at < items.length)
    throw mergeProblem(`the list ${field} is not in the order of ${orderPrefix}/${field}`);
}

interface Cleaned {
  /** The value is a directive and leaves nothing. */
  readonly isDirective: boolean;
  readonly rest: unknown;
}

/** Removes directives from a value that is new in the object. */
function withoutDirectives(value: unknown): Cleaned {
  if (Array.isArray(value)) {
    const rest = value
      .map(withoutDirectives)
      .flatMap((item): readonly unknown[] => (item.isDirective ? [] : [item.rest]));
    return { isDirective: false, rest };
  }
  if (!isRecord(value)) return { isDirective: false, rest: value };
  if (Object.hasOwn(value, "$patch")) return { isDirective: true, rest: undefined };
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const { isDirective, rest } = withoutDirectives(field);
    return isDirective ? [] : [[name, rest] as const];
  });
  return { isDirective: false, rest: Object.fromEntries(fields) };
}
