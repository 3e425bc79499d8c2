import { isRecord } from "../../../api/fields.ts";
import { groupOf, type Manifest } from "../../../api/kubernetes.ts";

const serverFields = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink",
]);

// These annotations repeat the object, with the values of Secrets.
const copies = new Set(["kubectl.kubernetes.io/last-applied-configuration"]);

/** An object without status and without the fields that only a server writes. */
export function neat(object: Manifest): Manifest {
  const { apiVersion, kind, metadata, status: _, ...rest } = object;
  const kept = Object.entries(metadata).filter(([field]) => !serverFields.has(field));
  const fields = kept.map(([field, value]) => [
    field,
    field === "annotations" ? without(value, copies) : value,
  ]);
  return { apiVersion, kind, metadata: Object.fromEntries(fields), ...rest };
}

function without(value: unknown, names: ReadonlySet<string>): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name)));
}

/** An object without the labels and owners that only knfleet writes, to compare with an object of another installer. */
export function withoutMarks(object: Manifest): Manifest {
  const { ownerReferences: _, labels, ...metadata } = object.metadata;
  const kept = Object.entries(labels ?? {}).filter(
    ([name]) => !name.startsWith("knfleet.dev/") && name !== "operator.knative.dev/crd-guard",
  );
  const left = kept.length === 0 ? {} : { labels: Object.fromEntries(kept) };
  return { ...object, metadata: { ...metadata, ...left } };
}

/** Both sides of a comparison. Undefined: the side does not have the object. */
export interface Sides {
  readonly live: Manifest | undefined;
  readonly wanted: Manifest | undefined;
}

/** Masks the values of Secrets, but shows which values differ. */
export function maskSecrets({ live, wanted }: Sides): Sides {
  return {
    live: live && maskedAgainst(live, wanted, "*** (before)"),
    wanted: wanted && maskedAgainst(wanted, live, "*** (after)"),
  };
}

function maskedAgainst(object: Manifest, other: Manifest | undefined, word: string): Manifest {
  if (object.kind !== "Secret" || groupOf(object.apiVersion) !== "") return object;
  const values = Object.fromEntries(
    ["data", "stringData"].flatMap((field) => {
      const own = object[field];
      if (own === undefined) return [];
      return [[field, maskedValues(own, other?.[field], word)]];
    }),
  );
  return { ...object, ...values };
}

function maskedValues(own: unknown, others: unknown, word: string): unknown {
  if (!isRecord(own)) return "***";
  const known = isRecord(others) ? others : {};
  return Object.fromEntries(
    Object.entries(own).map(([name, value]) => {
      const differs = Object.hasOwn(known, name) && known[name] !== value;
      return [name, differs ? word : "***"];
    }),
  );
}

// Fields that identify the items of Kubernetes lists, the most specific first.
const names = ["name", "mountPath", "containerPort", "port", "key", "type", "topologyKey"];

/** Keeps the fields of a value that at least one of the shapes has, and the items of lists by their name. Keeps other lists whole. */
export function keepShape(value: unknown, shapes: readonly unknown[]): unknown {
  if (Array.isArray(value)) return keepListShape(value, shapes);
  if (!isRecord(value)) return value;
  const records = shapes.filter(isRecord);
  const kept = Object.entries(value).flatMap(([field, own]) => {
    const inside = records.filter((shape) => Object.hasOwn(shape, field)).map((one) => one[field]);
    return inside.length === 0 ? [] : [[field, keepShape(own, inside)] as const];
  });
  return Object.fromEntries(kept);
}

function keepListShape(list: readonly unknown[], shapes: readonly unknown[]): readonly unknown[] {
  const items = shapes.flatMap((shape): readonly unknown[] => (Array.isArray(shape) ? shape : []));
  const field = names.find((name) => [...list, ...items].every((item) => hasName(item, name)));
  if (field === undefined || items.length === 0) return list;
  return list.flatMap((item) => {
    const same = items.filter((shape) => nameOf(shape, field) === nameOf(item, field));
    return same.length === 0 ? [] : [keepShape(item, same)];
  });
}

function hasName(item: unknown, name: string): boolean {
  return isRecord(item) && item[name] !== undefined;
}

function nameOf(item: unknown, name: string): unknown {
  return isRecord(item) ? item[name] : undefined;
}
