import type { FleetSetSpec } from "../../../api/fleet-set.ts";
import { fleetSetFields } from "../../../api/schema/fleet-set-spec.ts";
import { stringMap } from "../../../api/schema/primitives.ts";
import type { Fields, Problem } from "../rule.ts";
import { compileShape, problemsOf } from "../shape.ts";

/** The spec of a set in the shape of its schema, or what is wrong with its shape. */
export type ShapedSet =
  | { readonly spec: FleetSetSpec; readonly problems: readonly [] }
  | { readonly spec: undefined; readonly problems: readonly Problem[] };

// The spec of the component is checked with each override.
const template = {
  type: "object",
  properties: {
    metadata: { type: "object", properties: { labels: stringMap, annotations: stringMap } },
    spec: { type: "object" },
  },
} as const;

const schema = {
  type: "object",
  required: ["clusters", "template"],
  properties: { ...fleetSetFields, template },
} as const;

/** Checks specs of sets against the schema that the CRDs are made of. */
export function setShaper(): (spec: Fields) => ShapedSet {
  const check = compileShape<FleetSetSpec>(schema);
  return (spec) =>
    check(spec) ? { spec, problems: [] } : { spec: undefined, problems: problemsOf(check) };
}
