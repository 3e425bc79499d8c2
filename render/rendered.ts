import type { Manifest, ObjectKey } from "../api/kubernetes.ts";

/** What a component installs, before the owner is known. */
export interface Rendered {
  /** Target version; becomes `status.version` once all of it is installed. */
  readonly version: string;
  /** Deeply frozen, each object once, in the order of the release files. */
  readonly manifests: readonly Manifest[];
  /**
   * What `spec.patches` took out of the set and is to be deleted from the cluster once all workloads are available, in this order.
   */
  readonly deletions: readonly ObjectKey[];
  /** Parts of the release, relative to its directory; becomes `status.manifests`. Spec: knative-operator.md 2.7. */
  readonly paths: readonly string[];
  /** Changes exactly when the manifests change; lower-case hexadecimal SHA-256. */
  readonly hash: string;
}
