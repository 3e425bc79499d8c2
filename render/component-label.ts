import { setEntries } from "./fields.ts";
import type { Transform } from "./transform.ts";

/** Sets `app.kubernetes.io/name`, by which a component's objects are found again. Spec: knative-operator.md 3.14. */
export function componentLabel(value: string): Transform {
  return (manifest) =>
    setEntries(manifest, ["metadata", "labels"], { "app.kubernetes.io/name": value });
}
