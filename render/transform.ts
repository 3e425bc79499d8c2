import type { Manifest } from "../api/kubernetes.ts";

/** Changes one object of a release: pure, returns the same object when nothing changes, throws FleetError ManifestInvalid. */
export type Transform = (manifest: Manifest) => Manifest;

/** The transforms as one, applied from first to last. */
export function inOrder(transforms: readonly Transform[]): Transform {
  return (manifest) => transforms.reduce((current, transform) => transform(current), manifest);
}
