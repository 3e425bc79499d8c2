import { isRecord } from "../../api/fields.ts";
import { type Check, type Fields, type Problem } from "./rule.ts";

/** Security: T-62. */
const limits = { bytes: 1024 * 1024, items: 4_096, values: 16_384, depth: 64 } as const;

/**
 * What is too large about an object, found without recursion: more than 1 MiB, more than 4,096 elements in its lists or 16,384 values,
 * nested deeper than 64. `managedFields` do not count, since nobody writes them.
 */
export function sizeProblems(object: Readonly<Record<string, unknown>>): readonly Problem[] {
  let items = 0;
  let bytes = 0;
  let values = 0;
  let deepest = 0;
  const rest: (readonly [value: unknown, depth: number])[] = [[object, 1]];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [value, depth] = next;
    values += 1;
    // Beyond this nobody counts on: the rest is not looked at.
    if (values > limits.values) break;
    if (typeof value === "string") bytes += value.length;
    if (typeof value !== "object" || value === null) continue;
    deepest = Math.max(deepest, depth);
    if (Array.isArray(value)) {
      items += value.length;
      for (const entry of value) rest.push([entry, depth + 1]);
      continue;
    }
    for (const [key, entry] of Object.entries(value)) {
      bytes += key.length + 4;
      if (key !== "managedFields") rest.push([entry, depth + 1]);
    }
  }
  const found: readonly (readonly [boolean, string])[] = [
    [bytes > limits.bytes, "must not be larger than 1 MiB"],
    [
      items > limits.items,
      `must not hold more than ${limits.items} list elements (holds ${items})`,
    ],
    [values > limits.values, `must not hold more than ${limits.values} values`],
    [deepest > limits.depth, `must not be nested deeper than ${limits.depth} levels`],
  ];
  return found.flatMap(([isTooMuch, message]) => (isTooMuch ? [{ path: "spec", message }] : []));
}

// What the worst spec below this limit takes to render is some 60 ms. Real ones have a few hundred values.
const renderableValues = 8_000;

/** Whether rendering a spec could hold the process up. */
export function isHeavy(spec: Fields): boolean {
  return hasMoreThan(renderableValues, spec);
}

function hasMoreThan(limit: number, value: unknown): boolean {
  let count = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0 && count <= limit) {
    const next = rest.pop();
    count += 1;
    if (Array.isArray(next)) rest.push(...next.slice(0, limit + 1));
    else if (isRecord(next)) rest.push(...Object.values(next).slice(0, limit + 1));
  }
  return count > limit;
}

/** A spec that is not held against its release at admission. */
export const notRendered: Check = ({ spec }) =>
  isHeavy(spec)
    ? [
        {
          path: "spec",
          message:
            "is too large to be held against the release now; that happens when it is installed",
        },
      ]
    : [];
