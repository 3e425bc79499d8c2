import { type Right, rightTexts, rightTo } from "../../../../access/kube/missing-right.ts";
import { type ClusterProfile, clusterProfileApiVersion } from "../../../../api/cluster-profile.ts";
import { targetId } from "../../../../api/keys.ts";
import type { KubeObject, NamespacedName } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { componentOfAnchor } from "../../../../controller/reconcile/neighbours.ts";
import { anchorAnnotations } from "../../../../installation/anchor.ts";
import { idOf, registeredAnnotations } from "../../rights/spoke-objects.ts";
import type { HubFacts, SpokeFacts } from "./registration-facts.ts";

/** How a cluster is recognized. */
export interface ClusterTraits {
  /** Uid of its namespace `kube-system`. Empty: not known. */
  readonly uid: string;
  /** Addresses of its API server. */
  readonly servers: readonly string[];
  /** Anchors of its installations. */
  readonly anchors: readonly KubeObject[];
}

/** How a cluster is recognized before it is registered. `server`: an address for the controller besides that of the kubeconfig. */
export function traitsOf(
  { uid, cluster, anchors }: SpokeFacts,
  server: string | undefined,
): ClusterTraits {
  return {
    uid,
    anchors: anchors ?? [],
    servers: [cluster.server, ...(server === undefined ? [] : [server])],
  };
}

/** The addresses under which a ClusterProfile offers its cluster. */
export function serversOf({ status }: ClusterProfile): readonly string[] {
  const ways = [...(status?.accessProviders ?? []), ...(status?.credentialProviders ?? [])];
  return ways.flatMap(({ cluster }) => cluster?.server ?? []);
}

/**
 * The other ClusterProfiles of a hub that lead to a cluster, as `namespace/name`, sorted: by the uid that `register` noted, by an address, or because a component that
 * names the ClusterProfile is installed on the cluster.
 */
export function otherProfiles(
  profile: NamespacedName,
  { profiles, components }: Pick<HubFacts, "profiles" | "components">,
  { uid, servers, anchors }: ClusterTraits,
): readonly string[] {
  const isSame = (one: ClusterProfile): boolean => {
    const noted = one.metadata.annotations?.[registeredAnnotations.cluster] ?? "";
    return (
      (noted !== "" && noted === uid) || serversOf(one).some((server) => servers.includes(server))
    );
  };
  const owners = anchors
    // An anchor of the upstream operator tells only a name, which components of all clusters have.
    .filter(({ metadata }) => metadata.annotations?.[anchorAnnotations.componentUid] !== undefined)
    .flatMap((anchor) => componentOfAnchor(anchor, components) ?? []);
  const ids = [
    ...profiles.filter(isSame).map(({ metadata }) => idOf(metadata)),
    ...owners.map(targetId),
  ];
  return [...new Set(ids)].filter((id) => id !== "" && id !== idOf(profile)).toSorted();
}

/** The right to list the ClusterProfiles of the hub. */
export const listsProfiles: Right = rightTo(
  "list",
  knownResource(clusterProfileApiVersion, "ClusterProfile"),
);

/** Says that not all ClusterProfiles of a cluster are known, with the rights that are missing; nothing when none is. `anchors`: undefined without the right to list them. */
export function unknownProfiles({
  hub,
  anchors,
}: {
  readonly hub: readonly Right[];
  readonly anchors: readonly KubeObject[] | undefined;
}): readonly string[] {
  const lists = rightTo("list", knownResource("v1", "ConfigMap"));
  const onCluster = anchors === undefined ? [lists] : [];
  const lacks = [
    ...rightTexts(hub).map((right) => `${right} on the hub`),
    ...rightTexts(onCluster).map((right) => `${right} on the cluster`),
  ];
  if (lacks.length === 0) return [];
  return [
    `Whether another ClusterProfile leads to the same cluster could not be read, for want of the right to ${lacks.join(" and to ")}`,
  ];
}
