import type { Transform } from "../transform.ts";
import { type ResourceOverrides, withResources } from "./container-resources.ts";
import { isWorkload } from "./pod-template.ts";
import type { WorkloadOverride } from "./scaling.ts";

/**
 * Sets requests and limits of containers in all Deployments, but for those whose resources a workload override sets. Spec:
 * knative-operator.md 3.8 (`spec.resources`).
 */
export function deprecatedResources(
  resources: ResourceOverrides | undefined,
  overrides: readonly WorkloadOverride[],
): Transform {
  const own = overrides.filter((override) => (override.resources?.length ?? 0) > 0);
  const names = new Set(own.map(({ name }) => name));
  return (manifest) =>
    isWorkload(manifest, ["Deployment"]) && !names.has(manifest.metadata.name ?? "")
      ? withResources(manifest, [resources])
      : manifest;
}
