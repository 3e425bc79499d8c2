import type { Manifest } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { type Fields, merged } from "../fields.ts";
import { byContainer } from "./by-container.ts";
import { changeContainers, mapIn } from "./pod-template.ts";

/** Requests and limits of containers, by name; `claims` has no effect. */
export type ResourceOverrides = NonNullable<KnativeServingSpec["resources"]>;

/**
 * The workload with requests and limits set, entry by entry, by one override after the other (`byContainer`). Throws FleetError
 * ManifestInvalid. Spec: knative-operator.md 3.8, 3.9.
 */
export function withResources(
  manifest: Manifest,
  overrides: readonly (ResourceOverrides | undefined)[],
): Manifest {
  const own = byContainer(overrides);
  if (own.size === 0) return manifest;
  return changeContainers(manifest, (container) => {
    const found = own.get(container["name"]);
    if (found === undefined) return container;
    const before = mapIn(container, "resources", manifest);
    const after = (["limits", "requests"] as const).reduce<Fields>((resources, field) => {
      const wanted = merged(found.map((one) => one[field] ?? {}));
      return Object.keys(wanted).length === 0
        ? resources
        : { ...resources, [field]: { ...mapIn(resources, field, manifest), ...wanted } };
    }, before);
    return after === before ? container : { ...container, resources: after };
  });
}
