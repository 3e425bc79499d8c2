/** True for JSON objects and arrays: what can be indexed. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/**
 * The value at a path of fields and list positions, or undefined: `valueAt(deployment, "status", "readyReplicas")`.
 */
export function valueAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, step) => (isRecord(inner) ? inner[String(step)] : undefined),
    value,
  );
}

/** The condition of a type in `status.conditions`, or undefined. */
export function conditionOf(
  object: unknown,
  type: string,
): { readonly status: unknown; readonly reason: unknown; readonly message: unknown } | undefined {
  const conditions = valueAt(object, "status", "conditions");
  const found: unknown = Array.isArray(conditions)
    ? conditions.find((condition: unknown) => valueAt(condition, "type") === type)
    : undefined;
  if (!isRecord(found)) return undefined;
  return { status: found["status"], reason: found["reason"], message: found["message"] };
}
