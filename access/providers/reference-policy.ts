import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import { describe } from "../../api/kubernetes.ts";
import { contradictsManager } from "./provider-rules.ts";

/**
 * Which ClusterProfiles a component may reference: those of its own namespace (`Same`), those and granted ones (`Granted`), or any. Security: T-04.
 */
export const referenceModes = ["Same", "Granted", "Any"] as const;

export type ReferenceMode = (typeof referenceModes)[number];

/** True when several teams share the hub and do not trust each other fully. Security: T-04, T-34. */
export function isShared({ mode }: Pick<ReferencePolicy, "mode">): boolean {
  return mode !== "Any";
}

/** Lets components of one namespace reference ClusterProfiles of another. */
export interface ReferenceGrant {
  readonly fromNamespace: string;
  readonly toNamespace: string;
  /** Names of the ClusterProfiles; absent: all in the namespace. */
  readonly names?: readonly string[];
}

/** Says which ClusterProfiles are trusted and which component may reference which of them. Security: T-04, T-05, T-20. */
export interface ReferencePolicy {
  readonly mode: ReferenceMode;
  /** Used only in mode `Granted`. */
  readonly grants: readonly ReferenceGrant[];
  /** Namespaces whose ClusterProfiles are trusted; absent: all. */
  readonly trustedNamespaces?: readonly string[];
  /** `spec.clusterManager.name` of the ClusterProfiles that are trusted; absent: all. */
  readonly trustedManagers?: readonly string[];
}

/** Why components of a namespace may not reference a ClusterProfile, as a sentence; undefined when they may. The profile may not exist. */
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

/** Why a ClusterProfile is not trusted, as a sentence; undefined when it is. Security: T-20. */
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
