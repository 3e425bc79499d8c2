import { FleetError } from "../../api/errors.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { minorOf, tagOf } from "./version.ts";

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
      `the version of the manifests ${tagOf(label)} of the component ${manifest.metadata.name ?? ""} does not match the target version of the operator CR ${tagOf(target)}`,
    );
  }
}
