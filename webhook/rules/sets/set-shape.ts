import type { FleetSetSpec } from "../../../api/fleet-set.ts";
import { fleetSetShape } from "../../../api/schema/fleet-set-spec.ts";
import type { Fields, Problem } from "../rule.ts";
import { compileShape, problemsOf } from "../shape.ts";

/** A spec that matches the schema of sets, or the problems of one that does not. */
export type ShapedSet =
  | { readonly spec: FleetSetSpec; readonly problems: readonly [] }
  | { readonly spec: undefined; readonly problems: readonly Problem[] };

/** Returns a function that checks specs of sets against the schema of their CRDs. */
export function setShaper(): (spec: Fields) => ShapedSet {
  const check = compileShape<FleetSetSpec>(fleetSetShape);
  return (spec) =>
    check(spec) ? { spec, problems: [] } : { spec: undefined, problems: problemsOf(check) };
}
