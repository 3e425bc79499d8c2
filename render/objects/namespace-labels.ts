import { setEntries } from "../fields.ts";
import type { Transform } from "../transform.ts";

interface Settings {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Sets labels and annotations on Namespaces; of several settings the last has the last word. Spec: knative-operator.md 3.2;
 * `spec.namespaceConfiguration` is the name that upstream's documentation uses.
 */
export function namespaceLabels(settings: readonly (Settings | undefined)[]): Transform {
  const labels: Record<string, string> = {};
  const annotations: Record<string, string> = {};
  for (const one of settings) {
    Object.assign(labels, one?.labels);
    Object.assign(annotations, one?.annotations);
  }
  return (manifest) =>
    manifest.kind === "Namespace" && manifest.apiVersion === "v1"
      ? setEntries(
          setEntries(manifest, ["metadata", "labels"], labels),
          ["metadata", "annotations"],
          annotations,
        )
      : manifest;
}
