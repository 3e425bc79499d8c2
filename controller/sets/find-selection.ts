import {
  placementLabels,
  placementSets,
  type PlacementDecision,
} from "../../access/providers/placement.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { managedClusterLabel, ocmManager } from "../../api/delivery.ts";
import { byText, isRecord, listAt, recordAt, textAt } from "../../api/fields.ts";
import type { FleetSet } from "../../api/fleet-set.ts";
import { nameId } from "../../api/keys.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { SelectedCluster, Selection } from "../../sets/facts.ts";
import { selectsProfile } from "../../sets/select-clusters.ts";

/** Sources of a selection other than a selector of ClusterProfiles. */
export type PlacementSource = "PlacementDecision" | "OCMPlacement";

export const placementKinds: Readonly<
  Record<PlacementSource, { readonly apiVersion: string; readonly kind: string }>
> = {
  PlacementDecision: { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "PlacementDecision" },
  OCMPlacement: {
    apiVersion: "cluster.open-cluster-management.io/v1beta1",
    kind: "PlacementDecision",
  },
};

export interface SelectionSources {
  profiles(): Iterable<ClusterProfile>;
  /** Undefined while they cannot be read. */
  placements(source: PlacementSource): Iterable<KubeObject> | undefined;
}

/** Labels of Open Cluster Management. */
export const ocmLabels = {
  placement: "cluster.open-cluster-management.io/placement",
  group: "cluster.open-cluster-management.io/decision-group-name",
  /** Label of a ClusterProfile: the name of its ManagedCluster. */
  cluster: managedClusterLabel,
} as const;

/** The clusters that a set selects. A placement that does not exist or cannot be read gives `unusable`, never an empty selection. Spec: sets.md 5, R11. */
export function findSelection(set: FleetSet, sources: SelectionSources): Selection {
  const { from, selector = {} } = set.spec.clusters;
  if (from === "Selector") {
    const { namespace: home } = set.metadata;
    const profiles = [...sources.profiles()].filter((one) => selectsProfile(selector, one, home));
    const clusters = profiles.map(({ metadata: { namespace, name } }) => ({ namespace, name }));
    return { kind: "clusters", clusters };
  }
  const objects = sources.placements(from);
  if (objects === undefined) {
    const { apiVersion, kind } = placementKinds[from];
    const message = `${kind} of ${apiVersion} cannot be read on the hub; see the log of the controller`;
    return { kind: "unusable", reason: "PlacementUnavailable", message };
  }
  const here = [...objects].filter(({ metadata }) => metadata.namespace === set.metadata.namespace);
  return from === "PlacementDecision" ? decided(set, here) : placed(set, here, sources);
}

/** The clusters in PlacementDecisions of the Cluster Inventory API. Spec: cluster-inventory.md 1.3. */
function decided(set: FleetSet, slices: readonly KubeObject[]): Selection {
  const { decisionKey, placementKey } = set.spec.clusters.placementDecision ?? {};
  const label = decisionKey === undefined ? placementLabels.placement : placementLabels.key;
  const value = decisionKey ?? placementKey ?? "";
  const matching = slices.filter(({ metadata }) => metadata.labels?.[label] === value);
  if (matching.length === 0)
    return notFound(`No PlacementDecision has the label ${label}=${value}`);
  const all = placementSets(matching.map(asDecision)).flatMap(({ clusters }) => clusters);
  return { kind: "clusters", clusters: withoutTwins(all) };
}

/** The clusters in the PlacementDecisions of a Placement of Open Cluster Management, with their decision groups. */
function placed(
  set: FleetSet,
  slices: readonly KubeObject[],
  sources: SelectionSources,
): Selection {
  const { name = "" } = set.spec.clusters.ocmPlacement ?? {};
  const matching = slices.filter(({ metadata }) => metadata.labels?.[ocmLabels.placement] === name);
  if (matching.length === 0) return notFound(`No PlacementDecision is for the Placement ${name}`);
  const { namespace } = set.metadata;
  const profileNameOf = profileNames(
    [...sources.profiles()].filter(({ metadata }) => metadata.namespace === namespace),
  );
  const clusters = matching.flatMap((slice) => {
    const group = slice.metadata.labels?.[ocmLabels.group] ?? "";
    return clusterNamesIn(slice).map((cluster) => ({
      namespace,
      name: profileNameOf(cluster),
      ...(group === "" ? {} : { group }),
    }));
  });
  return { kind: "clusters", clusters: withoutTwins(clusters) };
}

/**
 * Finds the name of the ClusterProfile of a ManagedCluster among those of one namespace. The label alone proves nothing: whoever may create ClusterProfiles there writes it, and would take a
 * cluster away from the set. So the rule is that of works (pull.md): the profile is of Open Cluster Management, and has the name of the ManagedCluster, or its namespace has a
 * ManagedClusterSetBinding for it, without which OCM decides for no Placement there. Of several with another name the oldest counts, which a later one cannot displace. When only another
 * ClusterProfile has the name, returns a name that no ClusterProfile can have, so that the cluster counts as unreachable.
 */
function profileNames(profiles: readonly ClusterProfile[]): (cluster: string) => string {
  const taken = new Set(profiles.map(({ metadata }) => metadata.name));
  const names = new Map<string, string>();
  for (const profile of profiles.toSorted(byText(rankOf))) {
    const cluster = claimedClusterOf(profile);
    if (cluster !== undefined && !names.has(cluster)) names.set(cluster, profile.metadata.name);
  }
  return (cluster) =>
    names.get(cluster) ?? (taken.has(cluster) ? `managedcluster:${cluster}` : cluster);
}

/** The ManagedCluster that a ClusterProfile of Open Cluster Management stands for; undefined for one of another cluster manager. */
function claimedClusterOf({ metadata, spec }: ClusterProfile): string | undefined {
  if (spec?.clusterManager?.name !== ocmManager) return undefined;
  return metadata.labels?.[ocmLabels.cluster] ?? metadata.name;
}

/** Sorts ClusterProfiles of one ManagedCluster: the one with its name, and then by age. */
function rankOf(profile: ClusterProfile): string {
  const { name, creationTimestamp = "", uid } = profile.metadata;
  return `${claimedClusterOf(profile) === name ? 0 : 1} ${creationTimestamp} ${uid}`;
}

function clusterNamesIn(slice: KubeObject): readonly string[] {
  return listAt(recordAt(slice, "status"), "decisions").flatMap((decision) => {
    const name = isRecord(decision) ? textAt(decision, "clusterName") : undefined;
    return name === undefined || name === "" ? [] : [name];
  });
}

function notFound(message: string): Selection {
  return { kind: "unusable", reason: "PlacementNotFound", message };
}

function withoutTwins(clusters: readonly SelectedCluster[]): readonly SelectedCluster[] {
  return [...new Map(clusters.map((one) => [nameId(one), one])).values()];
}

function asDecision({ decisions, ...rest }: KubeObject): PlacementDecision {
  const list = Array.isArray(decisions) ? decisions.filter(isRecord) : [];
  return { ...rest, decisions: list };
}
