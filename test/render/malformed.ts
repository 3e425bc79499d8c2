import * as fc from "fast-check";

import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";

const junk: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(
  null,
  0,
  -1.5,
  "",
  "text",
  true,
  [],
  [null],
  ["text", 3],
  [[]],
  {},
  { name: null },
  { name: {}, env: "text" },
);

/** The manifests with junk in place of one or two of their fields, at any depth; identity stays. */
export function malformed(manifests: readonly Manifest[]): fc.Arbitrary<Manifest> {
  return fc
    .tuple(
      fc.constantFrom(...manifests),
      fc.array(fc.tuple(fc.nat(), junk), { minLength: 1, maxLength: 2 }),
    )
    .map(([manifest, changes]) => {
      const { apiVersion, kind, metadata, ...content } = structuredClone(manifest);
      const result = changes.reduce<unknown>((value, [at, by]) => spoiled(value, at, by), content);
      return { ...(isRecord(result) ? result : {}), apiVersion, kind, metadata };
    });
}

/** The value with the part at a position replaced; positions count through all parts, depth first. */
function spoiled(value: unknown, at: number, by: unknown): unknown {
  const paths = pathsIn(value);
  const path = paths[at % paths.length];
  return path === undefined ? value : replaced(value, path, by);
}

function pathsIn(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [
    [name],
    ...pathsIn(part).map((path) => [name, ...path]),
  ]);
}

function replaced(value: unknown, [first, ...rest]: readonly string[], by: unknown): unknown {
  if (first === undefined) return by;
  if (Array.isArray(value)) {
    return value.map((item, index) => (String(index) === first ? replaced(item, rest, by) : item));
  }
  return isRecord(value) ? { ...value, [first]: replaced(value[first], rest, by) } : value;
}
