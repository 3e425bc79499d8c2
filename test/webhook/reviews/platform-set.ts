/** Namespace of the sets. */
export const namespace = "platform";

const clusters = { from: "Selector", selector: { namespaces: ["fleet"] } };

/** A set as a user would write it, with more fields of its spec. */
export function set(name: string, spec: object) {
  return {
    apiVersion: "knfleet.dev/v1alpha1",
    kind: "KnativeServingSet",
    metadata: { name, namespace },
    spec: { clusters, template: { spec: { version: "1.23.0" } }, ...spec },
  };
}
