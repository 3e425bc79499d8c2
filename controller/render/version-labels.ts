import { FleetError } from "../../api/errors.ts";
import { describe, keyOf, type Manifest } from "../../api/kubernetes.ts";
import { minorOf } from "./version.ts";

/**
 * Throws FleetError ManifestInvalid when an object's label `app.kubernetes.io/version` names another minor version than the
 * target; objects without the label pass. Spec: knative-operator.md 2.4.
 */
export function assertVersionLabels(manifests: readonly Manifest[], target: string): void {
  if (target === "latest") return;
  for (const manifest of manifests) {
    const label = manifest.metadata.labels?.["app.kubernetes.io/version"];
    if (label === undefined || minorOf(label) === minorOf(target)) continue;
    throw new FleetError(
      "ManifestInvalid",
      `Version ${label} of ${describe(keyOf(manifest))} does not match the target version ${target}`,
    );
  }
}
