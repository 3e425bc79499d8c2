import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { setEntries } from "./fields.ts";
import type { Transform } from "./transform.ts";

/** `spec.services`. */
export type ServiceOverrides = NonNullable<KnativeServingSpec["services"]>;

/** Sets labels, annotations and selector entries of Services, by name, one override after the other. Spec: knative-operator.md 3.10. */
export function services(overrides: ServiceOverrides = []): Transform {
  return (manifest) => {
    if (manifest.kind !== "Service" || manifest.apiVersion !== "v1") return manifest;
    return overrides
      .filter(({ name }) => name === manifest.metadata.name)
      .reduce((current, { labels = {}, annotations = {}, selector = {} }) => {
        const labelled = setEntries(current, ["metadata", "labels"], labels);
        const annotated = setEntries(labelled, ["metadata", "annotations"], annotations);
        return setEntries(annotated, ["spec", "selector"], selector);
      }, manifest);
  };
}
