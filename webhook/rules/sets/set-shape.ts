import type { FleetSetSpec } from "../../../api/fleet-set.ts";
import { fleetSetFields } from "../../../api/schema/fleet-set-spec.ts";
import { stringMap } from "../../../api/schema/primitives.ts";
import type { Fields, Problem } from "../rule.ts";
import { compileShape, problemsOf } from "../shape.ts";

/** A spec that matches the schema of sets, or the problems of one that does not. */
export type ShapedSet =
  | { readonly spec: FleetSetSpec; readonly problems: readonly [] }
  | { readonly spec: undefined; readonly problems: readonly Problem[] };

// Does not check template.spec, which is checked together with the overrides.
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

/** Returns a function that checks specs of sets against the schema of their CRDs. */
export function setShaper(): (spec: Fields) => ShapedSet {
  const check = compileShape<FleetSetSpec>(schema);
  return (spec) =>
    check(spec) ? { spec, problems: [] } : { spec: undefined, problems: problemsOf(check) };
}
