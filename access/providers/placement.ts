import type { ClusterProfileRef } from "../../api/component.ts";
import { nameId } from "../../api/keys.ts";
import type { KubeObject } from "../../api/kubernetes.ts";

/** One slice of a scheduler's decision. Every field may be missing. Spec: cluster-inventory.md 1.3. */
export type PlacementDecision = KubeObject & {
  readonly decisions?: readonly PlacedCluster[] | null;
};

interface PlacedCluster {
  readonly clusterProfileRef?: { readonly namespace?: string; readonly name?: string };
}

/** A decision: its clusters in order, each once. An empty list means that no cluster was chosen. */
export interface PlacementSet {
  readonly namespace: string;
  /** Label `decision-key` of the slices; the name of a slice without that label. */
  readonly key: string;
  readonly clusters: readonly ClusterProfileRef[];
}

/** Labels of the slices of a decision. */
export const placementLabels = {
  key: "multicluster.x-k8s.io/decision-key",
  placement: "multicluster.x-k8s.io/placement-key",
  index: "multicluster.x-k8s.io/decision-index",
  revision: "multicluster.x-k8s.io/decision-revision",
} as const;

/** Joins slices, in any order, to decisions. Skips entries that name no ClusterProfile. */
export function placementSets(slices: readonly PlacementDecision[]): readonly PlacementSet[] {
  const groups = Map.groupBy(slices, (slice) =>
    JSON.stringify([slice.metadata.namespace ?? "", labelOf(slice, "key"), nameWithoutKey(slice)]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { namespace = "", name } = first.metadata;
    const ordered = ofNewestRevision(group).toSorted(bySlice);
    const refs = ordered.flatMap((slice) => referencesOf(slice, namespace));
    const clusters = [...new Map(refs.map((ref) => [nameId(ref), ref])).values()];
    return [{ namespace, key: labelOf(first, "key") ?? name, clusters }];
  });
}

function referencesOf({ decisions }: PlacementDecision, home: string): ClusterProfileRef[] {
  return (decisions ?? []).flatMap(({ clusterProfileRef: { namespace = "", name = "" } = {} }) =>
    name === "" ? [] : [{ namespace: namespace === "" ? home : namespace, name }],
  );
}

function labelOf(
  { metadata }: PlacementDecision,
  label: keyof typeof placementLabels,
): string | undefined {
  const value = metadata.labels?.[placementLabels[label]];
  return value === "" ? undefined : value;
}

/** A slice without a key is a decision of its own. */
function nameWithoutKey(slice: PlacementDecision): string | undefined {
  return labelOf(slice, "key") === undefined ? slice.metadata.name : undefined;
}

/** Only the slices of the newest revision, because slices of two revisions together are no decision. */
function ofNewestRevision(group: readonly PlacementDecision[]): readonly PlacementDecision[] {
  const revisions = group.map((slice) => labelOf(slice, "revision") ?? "");
  const newest = revisions.toSorted(byRevision).at(-1);
  return group.filter((_slice, at) => revisions[at] === newest);
}

function byRevision(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

/** By index; slices without a number come last, by name. */
function bySlice(a: PlacementDecision, b: PlacementDecision): number {
  const [first, second] = [indexOf(a), indexOf(b)];
  if (first !== second) return first < second ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

function indexOf(slice: PlacementDecision): number {
  const text = labelOf(slice, "index") ?? "";
  return /^\d+$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
}
