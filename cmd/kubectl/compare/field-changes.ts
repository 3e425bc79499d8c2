import { isRecord, isSameJson } from "../../../api/fields.ts";

/** One field that differs; null on a side that does not have it. */
export interface FieldChange {
  /** `.spec.template.spec.containers[activator].image`: items of lists by their name, or else by their place. */
  readonly path: string;
  readonly live: unknown;
  readonly wanted: unknown;
}

/** The fields in which two values differ, in the order of their paths. */
export function fieldChanges(live: unknown, wanted: unknown, path = ""): readonly FieldChange[] {
  if (isSameJson(live, wanted)) return [];
  if (isRecord(live) && isRecord(wanted)) {
    const names = [...new Set([...Object.keys(live), ...Object.keys(wanted)])].toSorted();
    return names.flatMap((name) =>
      fieldChanges(live[name], wanted[name], `${path}${stepOf(name)}`),
    );
  }
  const [before, after] = [itemsByName(live), itemsByName(wanted)];
  if (before !== undefined && after !== undefined) {
    const names = [...new Set([...before.keys(), ...after.keys()])];
    const inside = names.flatMap((name) =>
      fieldChanges(before.get(name), after.get(name), `${path}[${name}]`),
    );
    // The same items in another order.
    if (inside.length > 0) return inside;
  }
  return [{ path: path === "" ? "." : path, live: live ?? null, wanted: wanted ?? null }];
}

function stepOf(name: string): string {
  return /^[\w-]+$/.test(name) ? `.${name}` : `['${name}']`;
}

/** Items of a list by what names them; undefined for anything else, also when two have the same name. */
function itemsByName(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (!Array.isArray(value)) return undefined;
  const list: readonly unknown[] = value;
  const pairs = list.map((item, at) => [nameOfItem(item) ?? String(at), item] as const);
  const items = new Map(pairs);
  return items.size === list.length ? items : undefined;
}

function nameOfItem(item: unknown): string | undefined {
  if (!isRecord(item)) return undefined;
  const { name } = item;
  return typeof name === "string" ? name : undefined;
}
