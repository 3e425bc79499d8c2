/** What rendering depends on besides the component and the releases. */
export interface RenderOptions {
  /** Where the component is installed; see installation-namespace.ts. Absent: in the namespace of its own name on the hub. */
  readonly namespace?: string;
  /** `gitVersion` of the target cluster's answer to `/version`; absent: the version is not checked. */
  readonly kubernetesVersion?: string;
  /** Environment of the controller; of it `KUBERNETES_MIN_VERSION` counts. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * The text at a URL of `spec.manifests` or `spec.additionalManifests`, `${VERSION}` already replaced; absent: no URL is
   * allowed. Rejects with FleetError ManifestSourceNotAllowed, ManifestSourceUnavailable or ManifestInvalid.
   */
  readonly manifestText?: (url: string) => Promise<string>;
}
