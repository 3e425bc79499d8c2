import { isRecord } from "../../../api/fields.ts";

// What names the items of Kubernetes' lists, the most telling first.
const names = ["name", "mountPath", "containerPort", "port", "key", "type", "topologyKey"];

/** The part of a value that at least one of the shapes has, too: fields, and items of lists by their name; other lists are kept whole. */
export function projected(value: unknown, shapes: readonly unknown[]): unknown {
  if (Array.isArray(value)) return projectedList(value, shapes);
  if (!isRecord(value)) return value;
  const records = shapes.filter(isRecord);
  const kept = Object.entries(value).flatMap(([field, own]) => {
    const inside = records.filter((shape) => Object.hasOwn(shape, field)).map((one) => one[field]);
    return inside.length === 0 ? [] : [[field, projected(own, inside)] as const];
  });
  return Object.fromEntries(kept);
}

function projectedList(list: readonly unknown[], shapes: readonly unknown[]): readonly unknown[] {
  const items = shapes.flatMap((shape): readonly unknown[] => (Array.isArray(shape) ? shape : []));
  const field = names.find((name) => [...list, ...items].every((item) => hasName(item, name)));
  if (field === undefined || items.length === 0) return list;
  return list.flatMap((item) => {
    const same = items.filter((shape) => nameOf(shape, field) === nameOf(item, field));
    return same.length === 0 ? [] : [projected(item, same)];
  });
}

function hasName(item: unknown, name: string): boolean {
  return isRecord(item) && item[name] !== undefined;
}

function nameOf(item: unknown, name: string): unknown {
  return isRecord(item) ? item[name] : undefined;
}
