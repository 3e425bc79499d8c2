import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { specSchemas } from "../../../api/schema/component-spec.ts";
import { misfitOf } from "./misfit.ts";

/** Says what of a component's spec has not the form of its CRD, so that it cannot be rendered: another CRD may have let it in. Undefined: nothing. */
export function misfitOfSpec({ kind, spec }: Pick<Component, "kind" | "spec">) {
  const misfit = misfitOf(spec ?? {}, specSchemas[kind], "spec");
  return misfit === undefined ? undefined : new FleetError("ManifestInvalid", misfit);
}
