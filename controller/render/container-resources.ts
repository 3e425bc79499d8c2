import type { Manifest } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import type { Fields } from "./fields.ts";
import { changeContainers, mapIn } from "./pod-template.ts";

/** Requests and limits of containers, by name; `claims` has no effect. */
export type ResourceOverrides = NonNullable<KnativeServingSpec["resources"]>;

/**
 * The workload with requests and limits set, entry by entry; of several overrides of one container the first counts. Throws
 * FleetError ManifestInvalid. Spec: knative-operator.md 3.8, 3.9.
 */
export function withResources(manifest: Manifest, overrides: ResourceOverrides): Manifest {
  if (overrides.length === 0) return manifest;
  return changeContainers(manifest, (container) => {
    const override = overrides.find((one) => one.container === container["name"]);
    if (override === undefined) return container;
    const before = mapIn(container, "resources", manifest);
    const after = (["limits", "requests"] as const).reduce<Fields>((resources, field) => {
      const wanted = override[field] ?? {};
      return Object.keys(wanted).length === 0
        ? resources
        : { ...resources, [field]: { ...mapIn(resources, field, manifest), ...wanted } };
    }, before);
    return after === before ? container : { ...container, resources: after };
  });
}
