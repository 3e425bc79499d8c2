import * as fc from "fast-check";

import { isRecord } from "../../api/fields.ts";

/**
 * Values that a schema of a CRD admits, for its keywords that our schemas use. Texts and keys come from `words`, so that names
 * meet the objects they are about.
 */
export function valuesOf(schema: unknown, words: readonly string[]): fc.Arbitrary<unknown> {
  const word = fc.constantFrom(...words);
  if (!isRecord(schema)) return fc.constant(undefined);
  if (Array.isArray(schema["enum"])) return fc.constantFrom<unknown>(...schema["enum"]);
  if (Array.isArray(schema["anyOf"])) return fc.oneof(fc.integer({ min: 0, max: 9 }), word);
  switch (schema["type"]) {
    case "object":
      return objectsOf(schema, words);
    case "array":
      return fc.array(valuesOf(schema["items"], words), { maxLength: 3 });
    case "integer":
      return fc.integer({ min: -1, max: 9 });
    case "boolean":
      return fc.boolean();
    default:
      return word;
  }
}

function objectsOf(
  { properties, required, additionalProperties }: Readonly<Record<string, unknown>>,
  words: readonly string[],
): fc.Arbitrary<unknown> {
  if (isRecord(additionalProperties)) {
    const values = valuesOf(additionalProperties, words);
    return fc.dictionary(fc.constantFrom(...words), values, { maxKeys: 3 });
  }
  const entries = Object.entries(isRecord(properties) ? properties : {});
  const model = Object.fromEntries(entries.map(([name, part]) => [name, valuesOf(part, words)]));
  const requiredKeys = Array.isArray(required) ? required.map(String) : [];
  return fc.record(model, { requiredKeys });
}
