import { isRecord } from "../../../api/fields.ts";

type Schema = Readonly<Record<string, unknown>>;

/**
 * The first field of a value that has not the form which a schema of the API gives it, with what it must be; undefined: all have. Looks at types, required fields and
 * words, which is what programs stumble over, and not at lengths and patterns. Schemas are read as they are: to compile them takes longer than most commands.
 */
export function misfitOf(value: unknown, schema: unknown, path: string): string | undefined {
  if (!isRecord(schema)) return undefined;
  const want = typesOf(schema);
  if (want.length > 0 && !want.some((type) => isOf(value, type))) {
    return `${path} must be ${want.join(" or ")}`;
  }
  const words = schema["enum"];
  if (Array.isArray(words) && !words.includes(value)) {
    return `${path} must be one of ${words.join(", ")}`;
  }
  if (Array.isArray(value)) {
    return firstOf(value.entries(), ([at, item]) =>
      misfitOf(item, schema["items"], `${path}[${at}]`),
    );
  }
  return isRecord(value) ? misfitIn(value, schema, path) : undefined;
}

function misfitIn(value: Schema, schema: Schema, path: string): string | undefined {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const missing = required.find((name) => value[String(name)] === undefined);
  if (missing !== undefined) return `${path}.${String(missing)} is required`;
  const { properties, additionalProperties } = schema;
  const known = isRecord(properties) ? properties : {};
  return firstOf(Object.entries(value), ([name, field]) => {
    const own = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    return field === undefined ? undefined : misfitOf(field, own, `${path}.${name}`);
  });
}

function firstOf<Part>(
  parts: Iterable<Part>,
  misfit: (part: Part) => string | undefined,
): string | undefined {
  for (const part of parts) {
    const found = misfit(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

function typesOf({ type, anyOf }: Schema): readonly string[] {
  if (typeof type === "string") return [type];
  const parts = Array.isArray(anyOf) ? anyOf.filter(isRecord) : [];
  return parts.flatMap((part) => typesOf(part));
}

function isOf(value: unknown, type: string): boolean {
  if (type === "object") return isRecord(value);
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
