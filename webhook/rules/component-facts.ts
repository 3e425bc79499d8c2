import type { AllowedSource } from "../../access/manifests/manifest-url.ts";
import type { ProviderFile } from "../../access/providers/provider-config.ts";
import type { ReferencePolicy } from "../../access/providers/reference-policy.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { ClusterProfileRef, ComponentKey } from "../../api/component.ts";
import type { RenderFindings } from "../reviews/render-check.ts";

/** A component that the hub holds. */
export interface StoredComponent extends ComponentKey {
  /** The cluster that it is for; undefined: the hub itself. */
  readonly ref: ClusterProfileRef | undefined;
}

/** What could not be found out; never a yes. */
export type Unknown = "unknown";

/** Everything that rules go by besides the request. Absent facts were not asked for. */
export interface ComponentFacts {
  /** Whether the user may use the ClusterProfile. */
  readonly mayUse: boolean | Unknown | undefined;
  /** Whether the user may bring manifests of which nobody knows yet what they hold. */
  readonly mayApply: boolean | Unknown | undefined;
  /** The ClusterProfile; "absent" when there is none. */
  readonly profile: ClusterProfile | "absent" | Unknown | undefined;
  readonly components: readonly StoredComponent[] | Unknown;
  /** The provider files on the hub; undefined when there is none that the webhook can see. */
  readonly providers: readonly ProviderFile[] | undefined;
  /** Why the plugin of the provider that would be used cannot be run. */
  readonly pluginProblem: string | undefined;
  /** What rendering found; undefined: it was not asked. */
  readonly render: RenderFindings | undefined;
  /** Who may use which ClusterProfile; undefined: everybody all of them. */
  readonly references: ReferencePolicy | undefined;
  /** Where manifests may come from; undefined: not known here. */
  readonly manifestSources: readonly AllowedSource[] | undefined;
}
