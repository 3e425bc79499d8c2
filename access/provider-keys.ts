import { isRecord } from "./json.ts";
import type { KeySchema } from "./provider-schema.ts";

/** A value with the keys that a schema knows in their canonical case, and what was odd about the others. */
export interface CanonicalValue {
  readonly value: unknown;
  readonly warnings: readonly string[];
}

/**
 * Matches keys as Go does: in any case, later ones over earlier ones, objects merged, null as if absent. Unknown keys are
 * left out with a warning.
 */
export function canonicalKeys(value: unknown, schema: KeySchema): CanonicalValue {
  const warnings: string[] = [];
  return { value: canonical(value, schema, ""), warnings };

  function canonical(part: unknown, shape: KeySchema, path: string): unknown {
    if (Array.isArray(part) && shape.items !== undefined) {
      const { items } = shape;
      // Go reads null as the zero value of the element.
      const zero = items.properties === undefined ? "" : {};
      return part.map((item: unknown, index) =>
        canonical(item ?? zero, items, `${path}[${index}]`),
      );
    }
    if (!isRecord(part) || shape.properties === undefined) return part;
    const result: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(part)) {
      take(key, field, { shape: shape.properties, path, result });
    }
    return result;
  }

  function take(
    key: string,
    field: unknown,
    into: {
      readonly shape: Readonly<Record<string, KeySchema>>;
      readonly path: string;
      readonly result: Record<string, unknown>;
    },
  ): void {
    const name = Object.keys(into.shape).find((known) => folded(known) === folded(key));
    const shape = name === undefined ? undefined : into.shape[name];
    const place = into.path === "" ? key : `${into.path}.${key}`;
    if (name === undefined || shape === undefined) {
      warnings.push(`${place}: the key is not known and is ignored`);
      return;
    }
    if (name !== key) warnings.push(`${place}: the key should be written ${name}`);
    if (field === null) return;
    const next = canonical(field, shape, into.path === "" ? name : `${into.path}.${name}`);
    const before = into.result[name];
    into.result[name] = isRecord(before) && isRecord(next) ? { ...before, ...next } : next;
  }
}

// Upper case first: Go folds the long s and the Kelvin sign too.
function folded(key: string): string {
  return key.toUpperCase().toLowerCase();
}
