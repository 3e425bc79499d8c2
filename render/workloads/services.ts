import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { merged, setEntries } from "../fields.ts";
import type { Transform } from "../transform.ts";

/** `spec.services`. */
export type ServiceOverrides = NonNullable<KnativeServingSpec["services"]>;

/** Sets labels, annotations and selector entries of Services, by name; of several values of a key the last counts. Spec: knative-operator.md 3.10. */
export function services(overrides: ServiceOverrides = []): Transform {
  return (manifest) => {
    if (manifest.kind !== "Service" || manifest.apiVersion !== "v1") return manifest;
    const own = overrides.filter(({ name }) => name === manifest.metadata.name);
    const entriesOf = (field: "labels" | "annotations" | "selector") =>
      merged(own.map((override) => override[field] ?? {}));
    const labelled = setEntries(manifest, ["metadata", "labels"], entriesOf("labels"));
    const annotated = setEntries(labelled, ["metadata", "annotations"], entriesOf("annotations"));
    return setEntries(annotated, ["spec", "selector"], entriesOf("selector"));
  };
}
