import * as fc from "fast-check";

import { isRecord } from "../../../../api/fields.ts";

const names = [
  "activator",
  "webhook",
  "controller",
  "config-features",
  "network",
  "x",
  "__proto__",
];
const texts = [
  "",
  "1.23.0",
  "LoadBalancer",
  "100%",
  "example.com/${NAME}:v1",
  "- a: [",
  "{",
  "\u0000",
];
const garbage = fc.constantFrom<unknown>(null, 0, -1.5, "", "text", true, [], {}, [null], {
  a: {},
});
const mostFields = 4;

/** Values that a schema accepts; with `wrong` also such in which some parts are anything. */
export function valuesOf(schema: unknown, wrong: boolean): fc.Arbitrary<unknown> {
  const right = isRecord(schema) ? rightValues(schema, wrong) : garbage;
  return wrong
    ? fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: garbage })
    : right;
}

function rightValues(
  schema: Readonly<Record<string, unknown>>,
  wrong: boolean,
): fc.Arbitrary<unknown> {
  if (Array.isArray(schema["enum"])) return fc.constantFrom<unknown>(...schema["enum"]);
  if (schema["pattern"] !== undefined) return fc.constantFrom<unknown>("250m", "1Gi", 2, "0");
  if (Array.isArray(schema["anyOf"])) {
    return fc.oneof(...schema["anyOf"].map((one: unknown) => valuesOf(one, wrong)));
  }
  const { type, properties, additionalProperties, items, minLength, required } = schema;
  if (type === "boolean") return fc.boolean();
  if (type === "integer") return fc.constantFrom(0, 1, 3, -1, 2 ** 31 - 1);
  if (type === "string") {
    return fc.constantFrom(...names, ...(minLength === undefined ? texts : []));
  }
  if (type === "array") return fc.array(valuesOf(items, wrong), { maxLength: 2 });
  if (isRecord(properties)) {
    return fieldsOf(properties, Array.isArray(required) ? required.map(String) : [], wrong);
  }
  return fc.dictionary(fc.constantFrom(...names), valuesOf(additionalProperties, wrong), {
    maxKeys: 2,
  });
}

function fieldsOf(
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[],
  wrong: boolean,
): fc.Arbitrary<unknown> {
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  const candidates = [...optional, ...(wrong ? ["unknown"] : [])];
  return fc
    .subarray(candidates, { maxLength: Math.min(mostFields, candidates.length) })
    .chain((chosen) =>
      fc.record(
        Object.fromEntries(
          [...required, ...chosen].map((name) => [name, valuesOf(properties[name], wrong)]),
        ),
      ),
    );
}
