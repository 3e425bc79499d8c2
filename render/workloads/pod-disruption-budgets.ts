import { FleetError } from "../../api/errors.ts";
import { groupOf, type Manifest } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { changeField, setEntries, without } from "../fields.ts";
import type { Transform } from "../transform.ts";

/** `spec.podDisruptionBudgets`; `selector` and `unhealthyPodEvictionPolicy` have no effect (D-45). */
export type DisruptionBudgetOverrides = NonNullable<KnativeServingSpec["podDisruptionBudgets"]>;

/**
 * Sets how many pods may be gone, by name of the PodDisruptionBudget. An entry without a value ends the work on its object, as
 * upstream has it. FleetError ManifestInvalid when an entry holds both values. Spec: knative-operator.md 3.11.
 */
export function podDisruptionBudgets(overrides: DisruptionBudgetOverrides = []): Transform {
  return (manifest) => {
    if (manifest.kind !== "PodDisruptionBudget") return manifest;
    if (groupOf(manifest.apiVersion) !== "policy") return manifest;
    const own = overrides.filter(({ name }) => name === manifest.metadata.name);
    const end = own.findIndex(
      ({ minAvailable, maxUnavailable }) =>
        minAvailable === undefined && maxUnavailable === undefined,
    );
    return (end < 0 ? own : own.slice(0, end)).reduce(overridden, manifest);
  };
}

function overridden(
  manifest: Manifest,
  { name, minAvailable, maxUnavailable }: DisruptionBudgetOverrides[number],
): Manifest {
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    throw new FleetError(
      "ManifestInvalid",
      `spec.podDisruptionBudgets: both minAvailable and maxUnavailable are set for PodDisruptionBudget ${name}`,
    );
  }
  return minAvailable === undefined
    ? setEntries(cleared(manifest, "minAvailable"), ["spec"], { maxUnavailable })
    : setEntries(cleared(manifest, "maxUnavailable"), ["spec"], { minAvailable });
}

function cleared(manifest: Manifest, field: string): Manifest {
  return changeField(manifest, ["spec"], (spec) => without(spec, [field]));
}
