import { type FleetSet, fleetSetKinds } from "../../../api/fleet-set.ts";
import { specSchemas } from "../../../api/schema/component-spec.ts";
import { fleetSetShape } from "../../../api/schema/fleet-set-spec.ts";
import { fleetSetStatus } from "../../../api/schema/fleet-set-status.ts";
import { mergedSpecOf } from "../../../sets/desired-spec.ts";
import { misfitOf } from "./misfit.ts";

/** Says what of a set has not the form of its CRD, which another CRD has let in: its template also with each override. Undefined: nothing. */
export function misfitOfSet({
  kind,
  spec,
  status,
}: Pick<FleetSet, "kind" | "spec" | "status">): string | undefined {
  const wrong =
    misfitOf(spec, fleetSetShape, "spec") ??
    (status === undefined ? undefined : misfitOf(status, fleetSetStatus, "status"));
  if (wrong !== undefined) return wrong;
  const { overrides = [], template: made } = spec;
  const ofComponent = specSchemas[fleetSetKinds[kind].component];
  const own = misfitOf(mergedSpecOf(made, []), ofComponent, "spec.template.spec");
  if (own !== undefined) return own;
  for (const override of overrides) {
    const by = `spec.template.spec with the override ${override.name}: spec`;
    const merged = misfitOf(mergedSpecOf(made, [override]), ofComponent, by);
    if (merged !== undefined) return merged;
  }
  return undefined;
}
