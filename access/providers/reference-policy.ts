import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import { describe } from "../../api/kubernetes.ts";
import { contradictsManager } from "./provider-rules.ts";

/**
 * Which ClusterProfiles components may name: those of their own namespace, those that they were granted, too, or any. Security: T-04.
 */
export const referenceModes = ["Same", "Granted", "Any"] as const;

export type ReferenceMode = (typeof referenceModes)[number];

/** Whether several teams share the hub, who do not trust each other with everything. Security: T-04, T-34. */
export function isShared({ mode }: Pick<ReferencePolicy, "mode">): boolean {
  return mode !== "Any";
}

/** Components of one namespace may use ClusterProfiles of another. */
export interface ReferenceGrant {
  readonly fromNamespace: string;
  readonly toNamespace: string;
  /** Names of the ClusterProfiles; absent: all of the namespace. */
  readonly names?: readonly string[];
}

/** Who may use what on a hub that several people share. Security: T-04, T-05, T-20. */
export interface ReferencePolicy {
  readonly mode: ReferenceMode;
  /** Count in mode `Granted`. */
  readonly grants: readonly ReferenceGrant[];
  /** Namespaces whose ClusterProfiles are believed; absent: all. */
  readonly trustedNamespaces?: readonly string[];
  /** `spec.clusterManager.name` of the ClusterProfiles that are believed; absent: all. */
  readonly trustedManagers?: readonly string[];
}

/**
 * Why components of a namespace may not use a ClusterProfile, as a sentence; undefined when they may. Says nothing about whether the
 * profile exists.
 */
export function refusedReference(
  fromNamespace: string,
  { namespace, name }: ClusterProfileRef,
  { mode, grants, trustedNamespaces }: ReferencePolicy,
): string | undefined {
  if (trustedNamespaces?.includes(namespace) === false) {
    return `ClusterProfiles of namespace ${JSON.stringify(namespace)} are not trusted (--trusted-inventory-namespace)`;
  }
  if (mode === "Any" || fromNamespace === namespace) return undefined;
  const profile = describe({ kind: "ClusterProfile", namespace, name });
  if (mode === "Same") {
    return `${profile} is in another namespace than the component, which --reference-mode=Same does not permit`;
  }
  const isGranted = grants.some(
    (grant) =>
      grant.fromNamespace === fromNamespace &&
      grant.toNamespace === namespace &&
      grant.names?.includes(name) !== false,
  );
  return isGranted
    ? undefined
    : `No grant lets components of namespace ${JSON.stringify(fromNamespace)} use ${profile}`;
}

/** Why what a ClusterProfile says is not believed, as a sentence; undefined when it is. Security: T-20. */
export function distrustedProfile(
  profile: ClusterProfile,
  { trustedManagers }: Pick<ReferencePolicy, "trustedManagers">,
): string | undefined {
  if (trustedManagers === undefined) return undefined;
  const { namespace, name } = profile.metadata;
  const subject = describe({ kind: "ClusterProfile", namespace, name });
  if (!trustedManagers.includes(profile.spec?.clusterManager?.name ?? "")) {
    return `The cluster manager of ${subject} is not trusted (--trusted-cluster-manager)`;
  }
  return contradictsManager(profile)
    ? `The label of ${subject} names another cluster manager than its spec.clusterManager.name`
    : undefined;
}
