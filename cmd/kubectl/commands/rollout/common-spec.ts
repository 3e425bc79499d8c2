import { canonicalJson, isRecord, isSameJson } from "../../../../api/fields.ts";
import { literalFields, referenceStart } from "../../../../sets/values.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The fields and values that more than half of the specs have. */
export function commonOf(specs: readonly Fields[]): Fields {
  const names = new Set(specs.flatMap((spec) => Object.keys(spec)));
  const fields = [...names].flatMap((name) => {
    const values = specs.flatMap((spec) => (Object.hasOwn(spec, name) ? [spec[name]] : []));
    const common = commonValue(values, specs.length);
    return common === undefined ? [] : [[name, common.value] as const];
  });
  return Object.fromEntries(fields);
}

/** The value that more than half of `count` specs have at a field; undefined when there is none. */
function commonValue(
  values: readonly unknown[],
  count: number,
): { readonly value: unknown } | undefined {
  const records = values.filter(isRecord);
  if (records.length * 2 > count) {
    // A spec without the object counts as one with an empty object.
    const missing = Array.from({ length: count - records.length }, () => ({}));
    return { value: commonOf([...records, ...missing]) };
  }
  const groups = Map.groupBy(values, canonicalJson);
  const [largest = []] = [...groups.values()].toSorted((a, b) => b.length - a.length);
  return largest.length * 2 > count ? { value: largest[0] } : undefined;
}

/** The merge patch that changes `from` into `to`. Spec: RFC 7386. */
export function patchBetween(from: Fields, to: Fields): Fields {
  const names = new Set([...Object.keys(from), ...Object.keys(to)]);
  const fields = [...names].flatMap((name): readonly (readonly [string, unknown])[] => {
    if (!Object.hasOwn(to, name)) return [[name, null]];
    const value = to[name];
    if (!Object.hasOwn(from, name)) return [[name, value]];
    const before = from[name];
    if (isRecord(before) && isRecord(value)) {
      const patch = patchBetween(before, value);
      return Object.keys(patch).length === 0 ? [] : [[name, patch]];
    }
    return isSameJson(before, value) ? [] : [[name, value]];
  });
  return Object.fromEntries(fields);
}

/** Escapes a spec for a template, so that no text in it is read as a reference to a value of a cluster. */
export function withoutReferences(spec: Fields): Fields {
  const fields = Object.entries(spec).map(
    ([name, value]) => [name, literalFields.includes(name) ? value : escaped(value)] as const,
  );
  return Object.fromEntries(fields);
}

function escaped(value: unknown): unknown {
  if (typeof value === "string")
    return value.replaceAll(referenceStart, () => `$${referenceStart}`);
  if (Array.isArray(value)) return value.map(escaped);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, escaped(field)]));
}
