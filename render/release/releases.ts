import type { ComponentKind } from "../../api/component.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import type { Rendered } from "../rendered.ts";
import type { BoundedCache } from "./bounded-cache.ts";

/** The release files of one directory. Layout: knative-operator.md 2.1. */
export interface Releases {
  /** The directory, as an absolute path without links. */
  readonly dir: string;
  /** Available versions of a component, newest first; read once, when the directory was opened. */
  versionsOf(kind: ComponentKind): readonly string[];
  /**
   * The objects of one part, for example `knative-serving/1.23.0`, deeply frozen, in the order of files and documents, without
   * repeated documents. Parsed once and remembered. Throws FleetError ReleaseNotFound or ManifestInvalid.
   */
  load(part: string): Promise<readonly Manifest[]>;
  /** What `render` made from this directory. */
  readonly rendered: BoundedCache<Rendered>;
}
