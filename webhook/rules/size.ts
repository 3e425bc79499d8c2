import type { Problem } from "./rule.ts";

/** Security: T-62. */
const limits = { bytes: 1024 * 1024, items: 4_096, depth: 64 } as const;

/**
 * What is too large about an object, found without recursion: more than 1 MiB, more than 4,096 elements in its lists, nested deeper than
 * 64. `managedFields` do not count, since nobody writes them.
 */
export function sizeProblems(object: Readonly<Record<string, unknown>>): readonly Problem[] {
  let items = 0;
  let bytes = 0;
  let deepest = 0;
  const rest: (readonly [value: unknown, depth: number])[] = [[object, 1]];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [value, depth] = next;
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
    [deepest > limits.depth, `must not be nested deeper than ${limits.depth} levels`],
  ];
  return found.flatMap(([isTooMuch, message]) => (isTooMuch ? [{ path: "spec", message }] : []));
}
